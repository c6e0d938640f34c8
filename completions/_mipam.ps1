
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
            [CompletionResult]::new('--config', '--config', [CompletionResultType]::ParameterName, 'The file with the address pools [default: ./ipam-config.yaml, with --dir first DIR/ipam-config.yaml]')
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
            [CompletionResult]::new('completions', 'completions', [CompletionResultType]::ParameterValue, 'Print a completion script for your shell')
            [CompletionResult]::new('man', 'man', [CompletionResultType]::ParameterValue, 'Print the manual pages')
            [CompletionResult]::new('help', 'help', [CompletionResultType]::ParameterValue, 'Print this message or the help of the given subcommand(s)')
            break
        }
        'mipam;reconcile' {
            [CompletionResult]::new('--out', '--out', [CompletionResultType]::ParameterName, 'With --dir: leave the files there alone and write the result to this directory')
            [CompletionResult]::new('--max-in-flight', '--max-in-flight', [CompletionResultType]::ParameterName, 'How many writes may be under way at the same time')
            [CompletionResult]::new('--publish-capacity', '--publish-capacity', [CompletionResultType]::ParameterName, 'After the pass, publish the free addresses for the admission policy of Kubermatic machines, to be believed for so long: at least twice as long as from one run to the next, for example 10m')
            [CompletionResult]::new('--network', '--network', [CompletionResultType]::ParameterName, 'A network for Kubermatic machines, beside the pools of the configuration file, which may then be missing; give it again for another one, which serves when those before it are full')
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'How to print the report')
            [CompletionResult]::new('--output', '--output', [CompletionResultType]::ParameterName, 'How to print the report')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colour')
            [CompletionResult]::new('--config', '--config', [CompletionResultType]::ParameterName, 'The file with the address pools [default: ./ipam-config.yaml, with --dir first DIR/ipam-config.yaml]')
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
        'mipam;allocate' {
            [CompletionResult]::new('--pool', '--pool', [CompletionResultType]::ParameterName, 'The pool to take from')
            [CompletionResult]::new('--for', '--for', [CompletionResultType]::ParameterName, 'The object that gets the address, as KIND[.GROUP]/NAMESPACE/NAME')
            [CompletionResult]::new('--name', '--name', [CompletionResultType]::ParameterName, 'Hold the address under this name, for use outside the cluster')
            [CompletionResult]::new('--address', '--address', [CompletionResultType]::ParameterName, 'The very address to take [default: the lowest free one]')
            [CompletionResult]::new('--count', '--count', [CompletionResultType]::ParameterName, 'How many addresses to hold [default: 1]')
            [CompletionResult]::new('--network', '--network', [CompletionResultType]::ParameterName, 'A network for Kubermatic machines, beside the pools of the configuration file, which may then be missing; give it again for another one, which serves when those before it are full')
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'How to print the report')
            [CompletionResult]::new('--output', '--output', [CompletionResultType]::ParameterName, 'How to print the report')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colour')
            [CompletionResult]::new('--config', '--config', [CompletionResultType]::ParameterName, 'The file with the address pools [default: ./ipam-config.yaml, with --dir first DIR/ipam-config.yaml]')
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
            [CompletionResult]::new('--config', '--config', [CompletionResultType]::ParameterName, 'The file with the address pools [default: ./ipam-config.yaml, with --dir first DIR/ipam-config.yaml]')
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
            [CompletionResult]::new('--config', '--config', [CompletionResultType]::ParameterName, 'The file with the address pools [default: ./ipam-config.yaml, with --dir first DIR/ipam-config.yaml]')
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
            [CompletionResult]::new('--config', '--config', [CompletionResultType]::ParameterName, 'The file with the address pools [default: ./ipam-config.yaml, with --dir first DIR/ipam-config.yaml]')
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
            [CompletionResult]::new('--config', '--config', [CompletionResultType]::ParameterName, 'The file with the address pools [default: ./ipam-config.yaml, with --dir first DIR/ipam-config.yaml]')
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
        'mipam;completions' {
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colour')
            [CompletionResult]::new('--config', '--config', [CompletionResultType]::ParameterName, 'The file with the address pools [default: ./ipam-config.yaml, with --dir first DIR/ipam-config.yaml]')
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
            [CompletionResult]::new('--config', '--config', [CompletionResultType]::ParameterName, 'The file with the address pools [default: ./ipam-config.yaml, with --dir first DIR/ipam-config.yaml]')
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
