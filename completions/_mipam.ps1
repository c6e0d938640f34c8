
using namespace System.Management.Automation
using namespace System.Management.Automation.Language

Register-ArgumentCompleter -Native -CommandName 'mipam' -ScriptBlock {
    param($wordToComplete, $commandAst, $cursorPosition)

    $commandElements = $commandAst.CommandElements
    $command = @(
        'mipam'
        for ($i = 1; $i -lt $commandElements.Count; $i++) {
            $element = $commandElements[$i]
            if ($element -isnot [StringConstantExpressionAst] -or
                $element.StringConstantType -ne [StringConstantType]::BareWord -or
                $element.Value.StartsWith('-') -or
                $element.Value -eq $wordToComplete) {
                break
        }
        $element.Value
    }) -join ';'

    $completions = @(switch ($command) {
        'mipam' {
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colour')
            [CompletionResult]::new('--log-format', '--log-format', [CompletionResultType]::ParameterName, 'How to print what is not data, on stderr; with json, the report of reconcile is printed there, too')
            [CompletionResult]::new('--config', '--config', [CompletionResultType]::ParameterName, 'The file with the address pools, or configmap/NAMESPACE/NAME for the one in the cluster [default: ./ipam-config.yaml, with --dir first DIR/ipam-config.yaml]')
            [CompletionResult]::new('--dir', '--dir', [CompletionResultType]::ParameterName, 'Use the YAML and JSON files below DIR as the cluster')
            [CompletionResult]::new('--kubeconfig', '--kubeconfig', [CompletionResultType]::ParameterName, 'How to reach the cluster [default: $KUBECONFIG, ~/.kube/config, or the pod''s own account]')
            [CompletionResult]::new('--context', '--context', [CompletionResultType]::ParameterName, 'The kubeconfig context to use [default: the current one]')
            [CompletionResult]::new('--apiserver', '--apiserver', [CompletionResultType]::ParameterName, 'The address of the API server, in place of the one in the kubeconfig')
            [CompletionResult]::new('-n', '-n', [CompletionResultType]::ParameterName, 'Serve only the machines in this namespace [default: all]')
            [CompletionResult]::new('--namespace', '--namespace', [CompletionResultType]::ParameterName, 'Serve only the machines in this namespace [default: all]')
            [CompletionResult]::new('--systems', '--systems', [CompletionResultType]::ParameterName, 'Serve only these kinds of machine, for example openshift; separate with commas [default: all]')
            [CompletionResult]::new('--request-timeout', '--request-timeout', [CompletionResultType]::ParameterName, 'How long one request to the cluster may take, for example 30s or 1m30s')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Say more about what is done, on stderr')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Say more about what is done, on stderr')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print no warnings and no progress, only data and errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print no warnings and no progress, only data and errors')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('reconcile', 'reconcile', [CompletionResultType]::ParameterValue, 'Give every waiting machine its addresses, and free those whose machine is gone')
            [CompletionResult]::new('allocate', 'allocate', [CompletionResultType]::ParameterValue, 'Take addresses out of a pool, for an object or for yourself')
            [CompletionResult]::new('release', 'release', [CompletionResultType]::ParameterValue, 'Give an address back to its pool')
            [CompletionResult]::new('status', 'status', [CompletionResultType]::ParameterValue, 'Show how full the pools are, who waits, and what is wrong')
            [CompletionResult]::new('render-nmstate', 'render-nmstate', [CompletionResultType]::ParameterValue, 'Print a machine''s network configuration, without writing anything')
            [CompletionResult]::new('check-capacity', 'check-capacity', [CompletionResultType]::ParameterValue, 'Tell whether there are enough free addresses for what you plan')
            [CompletionResult]::new('detach', 'detach', [CompletionResultType]::ParameterValue, 'Take mipam''s hooks and finalizers off every object, so that it can be uninstalled')
            [CompletionResult]::new('webhook', 'webhook', [CompletionResultType]::ParameterValue, 'Answer the API server that asks about KubeVirt''s launcher pods')
            [CompletionResult]::new('completions', 'completions', [CompletionResultType]::ParameterValue, 'Print a completion script for your shell')
            [CompletionResult]::new('man', 'man', [CompletionResultType]::ParameterValue, 'Print the manual pages')
            [CompletionResult]::new('help', 'help', [CompletionResultType]::ParameterValue, 'Print this message or the help of the given subcommand(s)')
            break
        }
        'mipam;reconcile' {
            [CompletionResult]::new('--out', '--out', [CompletionResultType]::ParameterName, 'With --dir: leave the files there alone and write the result to this directory')
            [CompletionResult]::new('--max-in-flight', '--max-in-flight', [CompletionResultType]::ParameterName, 'How many writes may be under way at the same time')
            [CompletionResult]::new('--wait-for-lock', '--wait-for-lock', [CompletionResultType]::ParameterName, 'With --dir: how long to wait for another mipam that works on the directory, for example 30s [default: not at all]')
            [CompletionResult]::new('--publish-capacity', '--publish-capacity', [CompletionResultType]::ParameterName, 'After the pass, publish the free addresses for the admission policy of Kubermatic machines, to be believed for so long: at least twice as long as from one run to the next, for example 10m')
            [CompletionResult]::new('--network', '--network', [CompletionResultType]::ParameterName, 'A network for Kubermatic machines, beside the pools of the configuration file, which may then be missing; give it again for another one, which serves when those before it are full')
            [CompletionResult]::new('--resync', '--resync', [CompletionResultType]::ParameterName, 'Make a pass at least this often')
            [CompletionResult]::new('--health-probe-address', '--health-probe-address', [CompletionResultType]::ParameterName, 'Where /healthz, /readyz and /metrics are served, as :PORT or HOST:PORT')
            [CompletionResult]::new('--enable-leader-election', '--enable-leader-election', [CompletionResultType]::ParameterName, 'Whether one of several processes is at work while the others stand by')
            [CompletionResult]::new('--leader-elect-lease-duration', '--leader-elect-lease-duration', [CompletionResultType]::ParameterName, 'How long the others wait for one that was at work and is silent')
            [CompletionResult]::new('--leader-elect-renew-deadline', '--leader-elect-renew-deadline', [CompletionResultType]::ParameterName, 'How long one that is at work goes on although it cannot renew the Lease')
            [CompletionResult]::new('--leader-elect-retry-period', '--leader-elect-retry-period', [CompletionResultType]::ParameterName, 'How often the Lease is renewed or tried for; IPAM_RESOURCE_LOCK says it, too')
            [CompletionResult]::new('--leader-elect-resource-lock', '--leader-elect-resource-lock', [CompletionResultType]::ParameterName, 'What the processes agree by; there is only one way')
            [CompletionResult]::new('--leader-elect-resource-name', '--leader-elect-resource-name', [CompletionResultType]::ParameterName, 'The name of the Lease, in namespace mipam-system; the Role in manifests allows only `mipam`')
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'How to print the report')
            [CompletionResult]::new('--output', '--output', [CompletionResultType]::ParameterName, 'How to print the report')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colour')
            [CompletionResult]::new('--log-format', '--log-format', [CompletionResultType]::ParameterName, 'How to print what is not data, on stderr; with json, the report of reconcile is printed there, too')
            [CompletionResult]::new('--config', '--config', [CompletionResultType]::ParameterName, 'The file with the address pools, or configmap/NAMESPACE/NAME for the one in the cluster [default: ./ipam-config.yaml, with --dir first DIR/ipam-config.yaml]')
            [CompletionResult]::new('--dir', '--dir', [CompletionResultType]::ParameterName, 'Use the YAML and JSON files below DIR as the cluster')
            [CompletionResult]::new('--kubeconfig', '--kubeconfig', [CompletionResultType]::ParameterName, 'How to reach the cluster [default: $KUBECONFIG, ~/.kube/config, or the pod''s own account]')
            [CompletionResult]::new('--context', '--context', [CompletionResultType]::ParameterName, 'The kubeconfig context to use [default: the current one]')
            [CompletionResult]::new('--apiserver', '--apiserver', [CompletionResultType]::ParameterName, 'The address of the API server, in place of the one in the kubeconfig')
            [CompletionResult]::new('-n', '-n', [CompletionResultType]::ParameterName, 'Serve only the machines in this namespace [default: all]')
            [CompletionResult]::new('--namespace', '--namespace', [CompletionResultType]::ParameterName, 'Serve only the machines in this namespace [default: all]')
            [CompletionResult]::new('--systems', '--systems', [CompletionResultType]::ParameterName, 'Serve only these kinds of machine, for example openshift; separate with commas [default: all]')
            [CompletionResult]::new('--request-timeout', '--request-timeout', [CompletionResultType]::ParameterName, 'How long one request to the cluster may take, for example 30s or 1m30s')
            [CompletionResult]::new('--dry-run', '--dry-run', [CompletionResultType]::ParameterName, 'Show what would be done, and write nothing')
            [CompletionResult]::new('--diff', '--diff', [CompletionResultType]::ParameterName, 'Show the objects that change, line by line')
            [CompletionResult]::new('--allow-shrink', '--allow-shrink', [CompletionResultType]::ParameterName, 'Let go of ranges that the configuration or --network no longer has, if nobody holds an address of them')
            [CompletionResult]::new('--watch', '--watch', [CompletionResultType]::ParameterName, 'Do not end: make a pass whenever something changes')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Say more about what is done, on stderr')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Say more about what is done, on stderr')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print no warnings and no progress, only data and errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print no warnings and no progress, only data and errors')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'mipam;allocate' {
            [CompletionResult]::new('--pool', '--pool', [CompletionResultType]::ParameterName, 'The pool to take from')
            [CompletionResult]::new('--for', '--for', [CompletionResultType]::ParameterName, 'The object that gets the address, as KIND[.GROUP]/NAMESPACE/NAME')
            [CompletionResult]::new('--name', '--name', [CompletionResultType]::ParameterName, 'Hold the address under this name, for use outside the cluster')
            [CompletionResult]::new('--address', '--address', [CompletionResultType]::ParameterName, 'The very address to take [default: the lowest free one]')
            [CompletionResult]::new('--count', '--count', [CompletionResultType]::ParameterName, 'How many addresses to hold, at most 1024 [default: 1]')
            [CompletionResult]::new('--network', '--network', [CompletionResultType]::ParameterName, 'A network for Kubermatic machines, beside the pools of the configuration file, which may then be missing; give it again for another one, which serves when those before it are full')
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'How to print the report')
            [CompletionResult]::new('--output', '--output', [CompletionResultType]::ParameterName, 'How to print the report')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colour')
            [CompletionResult]::new('--log-format', '--log-format', [CompletionResultType]::ParameterName, 'How to print what is not data, on stderr; with json, the report of reconcile is printed there, too')
            [CompletionResult]::new('--config', '--config', [CompletionResultType]::ParameterName, 'The file with the address pools, or configmap/NAMESPACE/NAME for the one in the cluster [default: ./ipam-config.yaml, with --dir first DIR/ipam-config.yaml]')
            [CompletionResult]::new('--dir', '--dir', [CompletionResultType]::ParameterName, 'Use the YAML and JSON files below DIR as the cluster')
            [CompletionResult]::new('--kubeconfig', '--kubeconfig', [CompletionResultType]::ParameterName, 'How to reach the cluster [default: $KUBECONFIG, ~/.kube/config, or the pod''s own account]')
            [CompletionResult]::new('--context', '--context', [CompletionResultType]::ParameterName, 'The kubeconfig context to use [default: the current one]')
            [CompletionResult]::new('--apiserver', '--apiserver', [CompletionResultType]::ParameterName, 'The address of the API server, in place of the one in the kubeconfig')
            [CompletionResult]::new('-n', '-n', [CompletionResultType]::ParameterName, 'Serve only the machines in this namespace [default: all]')
            [CompletionResult]::new('--namespace', '--namespace', [CompletionResultType]::ParameterName, 'Serve only the machines in this namespace [default: all]')
            [CompletionResult]::new('--systems', '--systems', [CompletionResultType]::ParameterName, 'Serve only these kinds of machine, for example openshift; separate with commas [default: all]')
            [CompletionResult]::new('--request-timeout', '--request-timeout', [CompletionResultType]::ParameterName, 'How long one request to the cluster may take, for example 30s or 1m30s')
            [CompletionResult]::new('--dry-run', '--dry-run', [CompletionResultType]::ParameterName, 'Show what would be done, and write nothing')
            [CompletionResult]::new('--diff', '--diff', [CompletionResultType]::ParameterName, 'Show the objects that change, line by line')
            [CompletionResult]::new('--allow-shrink', '--allow-shrink', [CompletionResultType]::ParameterName, 'Let go of ranges that the configuration or --network no longer has, if nobody holds an address of them')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Say more about what is done, on stderr')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Say more about what is done, on stderr')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print no warnings and no progress, only data and errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print no warnings and no progress, only data and errors')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'mipam;release' {
            [CompletionResult]::new('--from-report', '--from-report', [CompletionResultType]::ParameterName, 'All addresses whose owners are gone, of a report that `status -o json` wrote; `-` reads stdin')
            [CompletionResult]::new('--pool', '--pool', [CompletionResultType]::ParameterName, 'The pool of the address, where several networks use the same one')
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'How to print the report')
            [CompletionResult]::new('--output', '--output', [CompletionResultType]::ParameterName, 'How to print the report')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colour')
            [CompletionResult]::new('--log-format', '--log-format', [CompletionResultType]::ParameterName, 'How to print what is not data, on stderr; with json, the report of reconcile is printed there, too')
            [CompletionResult]::new('--config', '--config', [CompletionResultType]::ParameterName, 'The file with the address pools, or configmap/NAMESPACE/NAME for the one in the cluster [default: ./ipam-config.yaml, with --dir first DIR/ipam-config.yaml]')
            [CompletionResult]::new('--dir', '--dir', [CompletionResultType]::ParameterName, 'Use the YAML and JSON files below DIR as the cluster')
            [CompletionResult]::new('--kubeconfig', '--kubeconfig', [CompletionResultType]::ParameterName, 'How to reach the cluster [default: $KUBECONFIG, ~/.kube/config, or the pod''s own account]')
            [CompletionResult]::new('--context', '--context', [CompletionResultType]::ParameterName, 'The kubeconfig context to use [default: the current one]')
            [CompletionResult]::new('--apiserver', '--apiserver', [CompletionResultType]::ParameterName, 'The address of the API server, in place of the one in the kubeconfig')
            [CompletionResult]::new('-n', '-n', [CompletionResultType]::ParameterName, 'Serve only the machines in this namespace [default: all]')
            [CompletionResult]::new('--namespace', '--namespace', [CompletionResultType]::ParameterName, 'Serve only the machines in this namespace [default: all]')
            [CompletionResult]::new('--systems', '--systems', [CompletionResultType]::ParameterName, 'Serve only these kinds of machine, for example openshift; separate with commas [default: all]')
            [CompletionResult]::new('--request-timeout', '--request-timeout', [CompletionResultType]::ParameterName, 'How long one request to the cluster may take, for example 30s or 1m30s')
            [CompletionResult]::new('-y', '-y', [CompletionResultType]::ParameterName, 'Do not ask; without a terminal only --force needs it')
            [CompletionResult]::new('--yes', '--yes', [CompletionResultType]::ParameterName, 'Do not ask; without a terminal only --force needs it')
            [CompletionResult]::new('--force', '--force', [CompletionResultType]::ParameterName, 'Release even though the object that holds the address exists')
            [CompletionResult]::new('--dry-run', '--dry-run', [CompletionResultType]::ParameterName, 'Show what would be done, and write nothing')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Say more about what is done, on stderr')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Say more about what is done, on stderr')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print no warnings and no progress, only data and errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print no warnings and no progress, only data and errors')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'mipam;status' {
            [CompletionResult]::new('--pool', '--pool', [CompletionResultType]::ParameterName, 'Only this pool')
            [CompletionResult]::new('--network', '--network', [CompletionResultType]::ParameterName, 'A network for Kubermatic machines, beside the pools of the configuration file, which may then be missing; give it again for another one, which serves when those before it are full')
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'How to print the report')
            [CompletionResult]::new('--output', '--output', [CompletionResultType]::ParameterName, 'How to print the report')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colour')
            [CompletionResult]::new('--log-format', '--log-format', [CompletionResultType]::ParameterName, 'How to print what is not data, on stderr; with json, the report of reconcile is printed there, too')
            [CompletionResult]::new('--config', '--config', [CompletionResultType]::ParameterName, 'The file with the address pools, or configmap/NAMESPACE/NAME for the one in the cluster [default: ./ipam-config.yaml, with --dir first DIR/ipam-config.yaml]')
            [CompletionResult]::new('--dir', '--dir', [CompletionResultType]::ParameterName, 'Use the YAML and JSON files below DIR as the cluster')
            [CompletionResult]::new('--kubeconfig', '--kubeconfig', [CompletionResultType]::ParameterName, 'How to reach the cluster [default: $KUBECONFIG, ~/.kube/config, or the pod''s own account]')
            [CompletionResult]::new('--context', '--context', [CompletionResultType]::ParameterName, 'The kubeconfig context to use [default: the current one]')
            [CompletionResult]::new('--apiserver', '--apiserver', [CompletionResultType]::ParameterName, 'The address of the API server, in place of the one in the kubeconfig')
            [CompletionResult]::new('-n', '-n', [CompletionResultType]::ParameterName, 'Serve only the machines in this namespace [default: all]')
            [CompletionResult]::new('--namespace', '--namespace', [CompletionResultType]::ParameterName, 'Serve only the machines in this namespace [default: all]')
            [CompletionResult]::new('--systems', '--systems', [CompletionResultType]::ParameterName, 'Serve only these kinds of machine, for example openshift; separate with commas [default: all]')
            [CompletionResult]::new('--request-timeout', '--request-timeout', [CompletionResultType]::ParameterName, 'How long one request to the cluster may take, for example 30s or 1m30s')
            [CompletionResult]::new('--addresses', '--addresses', [CompletionResultType]::ParameterName, 'List every address that is given out, and to whom')
            [CompletionResult]::new('--map', '--map', [CompletionResultType]::ParameterName, 'Draw each pool, one character for an address')
            [CompletionResult]::new('--allow-shrink', '--allow-shrink', [CompletionResultType]::ParameterName, 'Let go of ranges that the configuration or --network no longer has, if nobody holds an address of them')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Say more about what is done, on stderr')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Say more about what is done, on stderr')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print no warnings and no progress, only data and errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print no warnings and no progress, only data and errors')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'mipam;render-nmstate' {
            [CompletionResult]::new('--address', '--address', [CompletionResultType]::ParameterName, 'Instead of a machine: any address of a pool')
            [CompletionResult]::new('--pool', '--pool', [CompletionResultType]::ParameterName, 'The pool of that address')
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'How to print the configuration')
            [CompletionResult]::new('--output', '--output', [CompletionResultType]::ParameterName, 'How to print the configuration')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colour')
            [CompletionResult]::new('--log-format', '--log-format', [CompletionResultType]::ParameterName, 'How to print what is not data, on stderr; with json, the report of reconcile is printed there, too')
            [CompletionResult]::new('--config', '--config', [CompletionResultType]::ParameterName, 'The file with the address pools, or configmap/NAMESPACE/NAME for the one in the cluster [default: ./ipam-config.yaml, with --dir first DIR/ipam-config.yaml]')
            [CompletionResult]::new('--dir', '--dir', [CompletionResultType]::ParameterName, 'Use the YAML and JSON files below DIR as the cluster')
            [CompletionResult]::new('--kubeconfig', '--kubeconfig', [CompletionResultType]::ParameterName, 'How to reach the cluster [default: $KUBECONFIG, ~/.kube/config, or the pod''s own account]')
            [CompletionResult]::new('--context', '--context', [CompletionResultType]::ParameterName, 'The kubeconfig context to use [default: the current one]')
            [CompletionResult]::new('--apiserver', '--apiserver', [CompletionResultType]::ParameterName, 'The address of the API server, in place of the one in the kubeconfig')
            [CompletionResult]::new('-n', '-n', [CompletionResultType]::ParameterName, 'Serve only the machines in this namespace [default: all]')
            [CompletionResult]::new('--namespace', '--namespace', [CompletionResultType]::ParameterName, 'Serve only the machines in this namespace [default: all]')
            [CompletionResult]::new('--systems', '--systems', [CompletionResultType]::ParameterName, 'Serve only these kinds of machine, for example openshift; separate with commas [default: all]')
            [CompletionResult]::new('--request-timeout', '--request-timeout', [CompletionResultType]::ParameterName, 'How long one request to the cluster may take, for example 30s or 1m30s')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Say more about what is done, on stderr')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Say more about what is done, on stderr')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print no warnings and no progress, only data and errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print no warnings and no progress, only data and errors')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'mipam;check-capacity' {
            [CompletionResult]::new('--pool', '--pool', [CompletionResultType]::ParameterName, 'Only this pool [default: all]')
            [CompletionResult]::new('--need', '--need', [CompletionResultType]::ParameterName, 'How many more machines need an address of each family')
            [CompletionResult]::new('--for', '--for', [CompletionResultType]::ParameterName, 'What you want to scale, as KIND[.GROUP]/NAMESPACE/NAME')
            [CompletionResult]::new('--replicas', '--replicas', [CompletionResultType]::ParameterName, 'To how many machines in all')
            [CompletionResult]::new('--nodes', '--nodes', [CompletionResultType]::ParameterName, 'How many more Nodes need pod CIDRs from ClusterCIDRs')
            [CompletionResult]::new('--labels', '--labels', [CompletionResultType]::ParameterName, 'The labels of those Nodes')
            [CompletionResult]::new('--network', '--network', [CompletionResultType]::ParameterName, 'A network for Kubermatic machines, beside the pools of the configuration file, which may then be missing; give it again for another one, which serves when those before it are full')
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'How to print the report')
            [CompletionResult]::new('--output', '--output', [CompletionResultType]::ParameterName, 'How to print the report')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colour')
            [CompletionResult]::new('--log-format', '--log-format', [CompletionResultType]::ParameterName, 'How to print what is not data, on stderr; with json, the report of reconcile is printed there, too')
            [CompletionResult]::new('--config', '--config', [CompletionResultType]::ParameterName, 'The file with the address pools, or configmap/NAMESPACE/NAME for the one in the cluster [default: ./ipam-config.yaml, with --dir first DIR/ipam-config.yaml]')
            [CompletionResult]::new('--dir', '--dir', [CompletionResultType]::ParameterName, 'Use the YAML and JSON files below DIR as the cluster')
            [CompletionResult]::new('--kubeconfig', '--kubeconfig', [CompletionResultType]::ParameterName, 'How to reach the cluster [default: $KUBECONFIG, ~/.kube/config, or the pod''s own account]')
            [CompletionResult]::new('--context', '--context', [CompletionResultType]::ParameterName, 'The kubeconfig context to use [default: the current one]')
            [CompletionResult]::new('--apiserver', '--apiserver', [CompletionResultType]::ParameterName, 'The address of the API server, in place of the one in the kubeconfig')
            [CompletionResult]::new('-n', '-n', [CompletionResultType]::ParameterName, 'Serve only the machines in this namespace [default: all]')
            [CompletionResult]::new('--namespace', '--namespace', [CompletionResultType]::ParameterName, 'Serve only the machines in this namespace [default: all]')
            [CompletionResult]::new('--systems', '--systems', [CompletionResultType]::ParameterName, 'Serve only these kinds of machine, for example openshift; separate with commas [default: all]')
            [CompletionResult]::new('--request-timeout', '--request-timeout', [CompletionResultType]::ParameterName, 'How long one request to the cluster may take, for example 30s or 1m30s')
            [CompletionResult]::new('--allow-shrink', '--allow-shrink', [CompletionResultType]::ParameterName, 'Let go of ranges that the configuration or --network no longer has, if nobody holds an address of them')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Say more about what is done, on stderr')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Say more about what is done, on stderr')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print no warnings and no progress, only data and errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print no warnings and no progress, only data and errors')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'mipam;detach' {
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'How to print the report')
            [CompletionResult]::new('--output', '--output', [CompletionResultType]::ParameterName, 'How to print the report')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colour')
            [CompletionResult]::new('--log-format', '--log-format', [CompletionResultType]::ParameterName, 'How to print what is not data, on stderr; with json, the report of reconcile is printed there, too')
            [CompletionResult]::new('--config', '--config', [CompletionResultType]::ParameterName, 'The file with the address pools, or configmap/NAMESPACE/NAME for the one in the cluster [default: ./ipam-config.yaml, with --dir first DIR/ipam-config.yaml]')
            [CompletionResult]::new('--dir', '--dir', [CompletionResultType]::ParameterName, 'Use the YAML and JSON files below DIR as the cluster')
            [CompletionResult]::new('--kubeconfig', '--kubeconfig', [CompletionResultType]::ParameterName, 'How to reach the cluster [default: $KUBECONFIG, ~/.kube/config, or the pod''s own account]')
            [CompletionResult]::new('--context', '--context', [CompletionResultType]::ParameterName, 'The kubeconfig context to use [default: the current one]')
            [CompletionResult]::new('--apiserver', '--apiserver', [CompletionResultType]::ParameterName, 'The address of the API server, in place of the one in the kubeconfig')
            [CompletionResult]::new('-n', '-n', [CompletionResultType]::ParameterName, 'Serve only the machines in this namespace [default: all]')
            [CompletionResult]::new('--namespace', '--namespace', [CompletionResultType]::ParameterName, 'Serve only the machines in this namespace [default: all]')
            [CompletionResult]::new('--systems', '--systems', [CompletionResultType]::ParameterName, 'Serve only these kinds of machine, for example openshift; separate with commas [default: all]')
            [CompletionResult]::new('--request-timeout', '--request-timeout', [CompletionResultType]::ParameterName, 'How long one request to the cluster may take, for example 30s or 1m30s')
            [CompletionResult]::new('-y', '-y', [CompletionResultType]::ParameterName, 'Do not ask; without a terminal only --force needs it')
            [CompletionResult]::new('--yes', '--yes', [CompletionResultType]::ParameterName, 'Do not ask; without a terminal only --force needs it')
            [CompletionResult]::new('--force', '--force', [CompletionResultType]::ParameterName, 'Let machines go that wait for an address, without one')
            [CompletionResult]::new('--dry-run', '--dry-run', [CompletionResultType]::ParameterName, 'Show what would be done, and write nothing')
            [CompletionResult]::new('--diff', '--diff', [CompletionResultType]::ParameterName, 'Show the objects that change, line by line')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Say more about what is done, on stderr')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Say more about what is done, on stderr')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print no warnings and no progress, only data and errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print no warnings and no progress, only data and errors')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'mipam;webhook' {
            [CompletionResult]::new('--listen', '--listen', [CompletionResultType]::ParameterName, 'Where to answer reviews, as :PORT or HOST:PORT')
            [CompletionResult]::new('--health-probe-address', '--health-probe-address', [CompletionResultType]::ParameterName, 'Where /healthz, /readyz and /metrics are served, as :PORT or HOST:PORT')
            [CompletionResult]::new('--tls-cert', '--tls-cert', [CompletionResultType]::ParameterName, 'The certificate to show, as PEM; read again when it changes')
            [CompletionResult]::new('--tls-key', '--tls-key', [CompletionResultType]::ParameterName, 'The key of the certificate, as PEM')
            [CompletionResult]::new('--tls-name', '--tls-name', [CompletionResultType]::ParameterName, 'With --self-signed: another name or address that the API server reaches the webhook by')
            [CompletionResult]::new('--service', '--service', [CompletionResultType]::ParameterName, 'With --self-signed: the Service of the webhook')
            [CompletionResult]::new('--service-namespace', '--service-namespace', [CompletionResultType]::ParameterName, 'With --self-signed: the namespace of the Service and of the Secret')
            [CompletionResult]::new('--secret', '--secret', [CompletionResultType]::ParameterName, 'With --self-signed: the Secret')
            [CompletionResult]::new('--configuration', '--configuration', [CompletionResultType]::ParameterName, 'With --self-signed: the MutatingWebhookConfiguration')
            [CompletionResult]::new('--default-network-nad-namespace', '--default-network-nad-namespace', [CompletionResultType]::ParameterName, 'The namespace of the NetworkAttachmentDefinition `default`, which stands for the network of the pods')
            [CompletionResult]::new('--review-timeout', '--review-timeout', [CompletionResultType]::ParameterName, 'The longest that a review may take: less than timeoutSeconds of the MutatingWebhookConfiguration')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colour')
            [CompletionResult]::new('--log-format', '--log-format', [CompletionResultType]::ParameterName, 'How to print what is not data, on stderr; with json, the report of reconcile is printed there, too')
            [CompletionResult]::new('--config', '--config', [CompletionResultType]::ParameterName, 'The file with the address pools, or configmap/NAMESPACE/NAME for the one in the cluster [default: ./ipam-config.yaml, with --dir first DIR/ipam-config.yaml]')
            [CompletionResult]::new('--dir', '--dir', [CompletionResultType]::ParameterName, 'Use the YAML and JSON files below DIR as the cluster')
            [CompletionResult]::new('--kubeconfig', '--kubeconfig', [CompletionResultType]::ParameterName, 'How to reach the cluster [default: $KUBECONFIG, ~/.kube/config, or the pod''s own account]')
            [CompletionResult]::new('--context', '--context', [CompletionResultType]::ParameterName, 'The kubeconfig context to use [default: the current one]')
            [CompletionResult]::new('--apiserver', '--apiserver', [CompletionResultType]::ParameterName, 'The address of the API server, in place of the one in the kubeconfig')
            [CompletionResult]::new('-n', '-n', [CompletionResultType]::ParameterName, 'Serve only the machines in this namespace [default: all]')
            [CompletionResult]::new('--namespace', '--namespace', [CompletionResultType]::ParameterName, 'Serve only the machines in this namespace [default: all]')
            [CompletionResult]::new('--systems', '--systems', [CompletionResultType]::ParameterName, 'Serve only these kinds of machine, for example openshift; separate with commas [default: all]')
            [CompletionResult]::new('--request-timeout', '--request-timeout', [CompletionResultType]::ParameterName, 'How long one request to the cluster may take, for example 30s or 1m30s')
            [CompletionResult]::new('--self-signed', '--self-signed', [CompletionResultType]::ParameterName, 'Make a certificate, keep it in a Secret, and tell the API server to believe it')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Say more about what is done, on stderr')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Say more about what is done, on stderr')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print no warnings and no progress, only data and errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print no warnings and no progress, only data and errors')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'mipam;completions' {
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colour')
            [CompletionResult]::new('--log-format', '--log-format', [CompletionResultType]::ParameterName, 'How to print what is not data, on stderr; with json, the report of reconcile is printed there, too')
            [CompletionResult]::new('--config', '--config', [CompletionResultType]::ParameterName, 'The file with the address pools, or configmap/NAMESPACE/NAME for the one in the cluster [default: ./ipam-config.yaml, with --dir first DIR/ipam-config.yaml]')
            [CompletionResult]::new('--dir', '--dir', [CompletionResultType]::ParameterName, 'Use the YAML and JSON files below DIR as the cluster')
            [CompletionResult]::new('--kubeconfig', '--kubeconfig', [CompletionResultType]::ParameterName, 'How to reach the cluster [default: $KUBECONFIG, ~/.kube/config, or the pod''s own account]')
            [CompletionResult]::new('--context', '--context', [CompletionResultType]::ParameterName, 'The kubeconfig context to use [default: the current one]')
            [CompletionResult]::new('--apiserver', '--apiserver', [CompletionResultType]::ParameterName, 'The address of the API server, in place of the one in the kubeconfig')
            [CompletionResult]::new('-n', '-n', [CompletionResultType]::ParameterName, 'Serve only the machines in this namespace [default: all]')
            [CompletionResult]::new('--namespace', '--namespace', [CompletionResultType]::ParameterName, 'Serve only the machines in this namespace [default: all]')
            [CompletionResult]::new('--systems', '--systems', [CompletionResultType]::ParameterName, 'Serve only these kinds of machine, for example openshift; separate with commas [default: all]')
            [CompletionResult]::new('--request-timeout', '--request-timeout', [CompletionResultType]::ParameterName, 'How long one request to the cluster may take, for example 30s or 1m30s')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Say more about what is done, on stderr')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Say more about what is done, on stderr')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print no warnings and no progress, only data and errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print no warnings and no progress, only data and errors')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            break
        }
        'mipam;man' {
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colour')
            [CompletionResult]::new('--log-format', '--log-format', [CompletionResultType]::ParameterName, 'How to print what is not data, on stderr; with json, the report of reconcile is printed there, too')
            [CompletionResult]::new('--config', '--config', [CompletionResultType]::ParameterName, 'The file with the address pools, or configmap/NAMESPACE/NAME for the one in the cluster [default: ./ipam-config.yaml, with --dir first DIR/ipam-config.yaml]')
            [CompletionResult]::new('--dir', '--dir', [CompletionResultType]::ParameterName, 'Use the YAML and JSON files below DIR as the cluster')
            [CompletionResult]::new('--kubeconfig', '--kubeconfig', [CompletionResultType]::ParameterName, 'How to reach the cluster [default: $KUBECONFIG, ~/.kube/config, or the pod''s own account]')
            [CompletionResult]::new('--context', '--context', [CompletionResultType]::ParameterName, 'The kubeconfig context to use [default: the current one]')
            [CompletionResult]::new('--apiserver', '--apiserver', [CompletionResultType]::ParameterName, 'The address of the API server, in place of the one in the kubeconfig')
            [CompletionResult]::new('-n', '-n', [CompletionResultType]::ParameterName, 'Serve only the machines in this namespace [default: all]')
            [CompletionResult]::new('--namespace', '--namespace', [CompletionResultType]::ParameterName, 'Serve only the machines in this namespace [default: all]')
            [CompletionResult]::new('--systems', '--systems', [CompletionResultType]::ParameterName, 'Serve only these kinds of machine, for example openshift; separate with commas [default: all]')
            [CompletionResult]::new('--request-timeout', '--request-timeout', [CompletionResultType]::ParameterName, 'How long one request to the cluster may take, for example 30s or 1m30s')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Say more about what is done, on stderr')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Say more about what is done, on stderr')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print no warnings and no progress, only data and errors')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print no warnings and no progress, only data and errors')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            break
        }
        'mipam;help' {
            [CompletionResult]::new('reconcile', 'reconcile', [CompletionResultType]::ParameterValue, 'Give every waiting machine its addresses, and free those whose machine is gone')
            [CompletionResult]::new('allocate', 'allocate', [CompletionResultType]::ParameterValue, 'Take addresses out of a pool, for an object or for yourself')
            [CompletionResult]::new('release', 'release', [CompletionResultType]::ParameterValue, 'Give an address back to its pool')
            [CompletionResult]::new('status', 'status', [CompletionResultType]::ParameterValue, 'Show how full the pools are, who waits, and what is wrong')
            [CompletionResult]::new('render-nmstate', 'render-nmstate', [CompletionResultType]::ParameterValue, 'Print a machine''s network configuration, without writing anything')
            [CompletionResult]::new('check-capacity', 'check-capacity', [CompletionResultType]::ParameterValue, 'Tell whether there are enough free addresses for what you plan')
            [CompletionResult]::new('detach', 'detach', [CompletionResultType]::ParameterValue, 'Take mipam''s hooks and finalizers off every object, so that it can be uninstalled')
            [CompletionResult]::new('webhook', 'webhook', [CompletionResultType]::ParameterValue, 'Answer the API server that asks about KubeVirt''s launcher pods')
            [CompletionResult]::new('completions', 'completions', [CompletionResultType]::ParameterValue, 'Print a completion script for your shell')
            [CompletionResult]::new('man', 'man', [CompletionResultType]::ParameterValue, 'Print the manual pages')
            [CompletionResult]::new('help', 'help', [CompletionResultType]::ParameterValue, 'Print this message or the help of the given subcommand(s)')
            break
        }
        'mipam;help;reconcile' {
            break
        }
        'mipam;help;allocate' {
            break
        }
        'mipam;help;release' {
            break
        }
        'mipam;help;status' {
            break
        }
        'mipam;help;render-nmstate' {
            break
        }
        'mipam;help;check-capacity' {
            break
        }
        'mipam;help;detach' {
            break
        }
        'mipam;help;webhook' {
            break
        }
        'mipam;help;completions' {
            break
        }
        'mipam;help;man' {
            break
        }
        'mipam;help;help' {
            break
        }
    })

    $completions.Where{ $_.CompletionText -like "$wordToComplete*" } |
        Sort-Object -Property ListItemText
}
