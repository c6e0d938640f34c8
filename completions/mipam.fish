# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_mipam_global_optspecs
    string join \n color= v/verbose log-format= q/quiet config= dir= kubeconfig= context= apiserver= n/namespace= systems= request-timeout= h/help V/version
end

function __fish_mipam_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_mipam_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_mipam_using_subcommand
    set -l cmd (__fish_mipam_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c mipam -n "__fish_mipam_needs_command" -l color -d 'When to use colour' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Even into a file or a pipe'
never\t'Not at all'"
complete -c mipam -n "__fish_mipam_needs_command" -l log-format -d 'How to print what is not data, on stderr; with json, the report of reconcile is printed there, too' -r -f -a "text\t'For people'
json\t'A JSON object a line, with time, level and message'"
complete -c mipam -n "__fish_mipam_needs_command" -l config -d 'The file with the address pools, or configmap/NAMESPACE/NAME for the one in the cluster [default: ./ipam-config.yaml, with --dir first DIR/ipam-config.yaml]' -r -F
complete -c mipam -n "__fish_mipam_needs_command" -l dir -d 'Use the YAML and JSON files below DIR as the cluster' -r -f -a "(__fish_complete_directories)"
complete -c mipam -n "__fish_mipam_needs_command" -l kubeconfig -d 'How to reach the cluster [default: $KUBECONFIG, ~/.kube/config, or the pod\'s own account]' -r -F
complete -c mipam -n "__fish_mipam_needs_command" -l context -d 'The kubeconfig context to use [default: the current one]' -r
complete -c mipam -n "__fish_mipam_needs_command" -l apiserver -d 'The address of the API server, in place of the one in the kubeconfig' -r -f
complete -c mipam -n "__fish_mipam_needs_command" -s n -l namespace -d 'Serve only the machines in this namespace [default: all]' -r
complete -c mipam -n "__fish_mipam_needs_command" -l systems -d 'Serve only these kinds of machine, for example openshift; separate with commas [default: all]' -r
complete -c mipam -n "__fish_mipam_needs_command" -l request-timeout -d 'How long one request to the cluster may take, for example 30s or 1m30s' -r
complete -c mipam -n "__fish_mipam_needs_command" -s v -l verbose -d 'Say more about what is done, on stderr'
complete -c mipam -n "__fish_mipam_needs_command" -s q -l quiet -d 'Print no warnings and no progress, only data and errors'
complete -c mipam -n "__fish_mipam_needs_command" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c mipam -n "__fish_mipam_needs_command" -s V -l version -d 'Print version'
complete -c mipam -n "__fish_mipam_needs_command" -f -a "reconcile" -d 'Give every waiting machine its addresses, and free those whose machine is gone'
complete -c mipam -n "__fish_mipam_needs_command" -f -a "allocate" -d 'Take addresses out of a pool, for an object or for yourself'
complete -c mipam -n "__fish_mipam_needs_command" -f -a "release" -d 'Give an address back to its pool'
complete -c mipam -n "__fish_mipam_needs_command" -f -a "status" -d 'Show how full the pools are, who waits, and what is wrong'
complete -c mipam -n "__fish_mipam_needs_command" -f -a "render-nmstate" -d 'Print a machine\'s network configuration, without writing anything'
complete -c mipam -n "__fish_mipam_needs_command" -f -a "check-capacity" -d 'Tell whether there are enough free addresses for what you plan'
complete -c mipam -n "__fish_mipam_needs_command" -f -a "detach" -d 'Take mipam\'s hooks and finalizers off every object, so that it can be uninstalled'
complete -c mipam -n "__fish_mipam_needs_command" -f -a "webhook" -d 'Answer the API server that asks about KubeVirt\'s launcher pods'
complete -c mipam -n "__fish_mipam_needs_command" -f -a "completions" -d 'Print a completion script for your shell'
complete -c mipam -n "__fish_mipam_needs_command" -f -a "man" -d 'Print the manual pages'
complete -c mipam -n "__fish_mipam_needs_command" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c mipam -n "__fish_mipam_using_subcommand reconcile" -l out -d 'With --dir: leave the files there alone and write the result to this directory' -r -f -a "(__fish_complete_directories)"
complete -c mipam -n "__fish_mipam_using_subcommand reconcile" -l max-in-flight -d 'How many writes may be under way at the same time' -r
complete -c mipam -n "__fish_mipam_using_subcommand reconcile" -l wait-for-lock -d 'With --dir: how long to wait for another mipam that works on the directory, for example 30s [default: not at all]' -r
complete -c mipam -n "__fish_mipam_using_subcommand reconcile" -l publish-capacity -d 'After the pass, publish the free addresses for the admission policy of Kubermatic machines, to be believed for so long: at least twice as long as from one run to the next, for example 10m' -r
complete -c mipam -n "__fish_mipam_using_subcommand reconcile" -l network -d 'A network for Kubermatic machines, beside the pools of the configuration file, which may then be missing; give it again for another one, which serves when those before it are full' -r
complete -c mipam -n "__fish_mipam_using_subcommand reconcile" -l resync -d 'Make a pass at least this often' -r
complete -c mipam -n "__fish_mipam_using_subcommand reconcile" -l health-probe-address -d 'Where /healthz, /readyz and /metrics are served, as :PORT or HOST:PORT' -r
complete -c mipam -n "__fish_mipam_using_subcommand reconcile" -l enable-leader-election -d 'Whether one of several processes is at work while the others stand by' -r -f -a "true\t''
false\t''"
complete -c mipam -n "__fish_mipam_using_subcommand reconcile" -l leader-elect-lease-duration -d 'How long the others wait for one that was at work and is silent' -r
complete -c mipam -n "__fish_mipam_using_subcommand reconcile" -l leader-elect-renew-deadline -d 'How long one that is at work goes on although it cannot renew the Lease' -r
complete -c mipam -n "__fish_mipam_using_subcommand reconcile" -l leader-elect-retry-period -d 'How often the Lease is renewed or tried for; IPAM_RESOURCE_LOCK says it, too' -r
complete -c mipam -n "__fish_mipam_using_subcommand reconcile" -l leader-elect-resource-lock -d 'What the processes agree by; there is only one way' -r
complete -c mipam -n "__fish_mipam_using_subcommand reconcile" -l leader-elect-resource-name -d 'The name of the Lease, in namespace mipam-system; the Role in manifests allows only `mipam`' -r
complete -c mipam -n "__fish_mipam_using_subcommand reconcile" -s o -l output -d 'How to print the report' -r -f -a "table\t'Columns for people'
wide\t'The same with more columns'
json\t'For programs'
yaml\t'For programs that prefer YAML'
name\t'One name or address a line'"
complete -c mipam -n "__fish_mipam_using_subcommand reconcile" -l color -d 'When to use colour' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Even into a file or a pipe'
never\t'Not at all'"
complete -c mipam -n "__fish_mipam_using_subcommand reconcile" -l log-format -d 'How to print what is not data, on stderr; with json, the report of reconcile is printed there, too' -r -f -a "text\t'For people'
json\t'A JSON object a line, with time, level and message'"
complete -c mipam -n "__fish_mipam_using_subcommand reconcile" -l config -d 'The file with the address pools, or configmap/NAMESPACE/NAME for the one in the cluster [default: ./ipam-config.yaml, with --dir first DIR/ipam-config.yaml]' -r -F
complete -c mipam -n "__fish_mipam_using_subcommand reconcile" -l dir -d 'Use the YAML and JSON files below DIR as the cluster' -r -f -a "(__fish_complete_directories)"
complete -c mipam -n "__fish_mipam_using_subcommand reconcile" -l kubeconfig -d 'How to reach the cluster [default: $KUBECONFIG, ~/.kube/config, or the pod\'s own account]' -r -F
complete -c mipam -n "__fish_mipam_using_subcommand reconcile" -l context -d 'The kubeconfig context to use [default: the current one]' -r
complete -c mipam -n "__fish_mipam_using_subcommand reconcile" -l apiserver -d 'The address of the API server, in place of the one in the kubeconfig' -r -f
complete -c mipam -n "__fish_mipam_using_subcommand reconcile" -s n -l namespace -d 'Serve only the machines in this namespace [default: all]' -r
complete -c mipam -n "__fish_mipam_using_subcommand reconcile" -l systems -d 'Serve only these kinds of machine, for example openshift; separate with commas [default: all]' -r
complete -c mipam -n "__fish_mipam_using_subcommand reconcile" -l request-timeout -d 'How long one request to the cluster may take, for example 30s or 1m30s' -r
complete -c mipam -n "__fish_mipam_using_subcommand reconcile" -l dry-run -d 'Show what would be done, and write nothing'
complete -c mipam -n "__fish_mipam_using_subcommand reconcile" -l diff -d 'Show the objects that change, line by line'
complete -c mipam -n "__fish_mipam_using_subcommand reconcile" -l allow-shrink -d 'Let go of ranges that the configuration or --network no longer has, if nobody holds an address of them'
complete -c mipam -n "__fish_mipam_using_subcommand reconcile" -l watch -d 'Do not end: make a pass whenever something changes'
complete -c mipam -n "__fish_mipam_using_subcommand reconcile" -s v -l verbose -d 'Say more about what is done, on stderr'
complete -c mipam -n "__fish_mipam_using_subcommand reconcile" -s q -l quiet -d 'Print no warnings and no progress, only data and errors'
complete -c mipam -n "__fish_mipam_using_subcommand reconcile" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c mipam -n "__fish_mipam_using_subcommand allocate" -l pool -d 'The pool to take from' -r
complete -c mipam -n "__fish_mipam_using_subcommand allocate" -l for -d 'The object that gets the address, as KIND[.GROUP]/NAMESPACE/NAME' -r
complete -c mipam -n "__fish_mipam_using_subcommand allocate" -l name -d 'Hold the address under this name, for use outside the cluster' -r
complete -c mipam -n "__fish_mipam_using_subcommand allocate" -l address -d 'The very address to take [default: the lowest free one]' -r
complete -c mipam -n "__fish_mipam_using_subcommand allocate" -l count -d 'How many addresses to hold, at most 1024 [default: 1]' -r
complete -c mipam -n "__fish_mipam_using_subcommand allocate" -l network -d 'A network for Kubermatic machines, beside the pools of the configuration file, which may then be missing; give it again for another one, which serves when those before it are full' -r
complete -c mipam -n "__fish_mipam_using_subcommand allocate" -s o -l output -d 'How to print the report' -r -f -a "table\t'Columns for people'
wide\t'The same with more columns'
json\t'For programs'
yaml\t'For programs that prefer YAML'
name\t'One name or address a line'"
complete -c mipam -n "__fish_mipam_using_subcommand allocate" -l color -d 'When to use colour' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Even into a file or a pipe'
never\t'Not at all'"
complete -c mipam -n "__fish_mipam_using_subcommand allocate" -l log-format -d 'How to print what is not data, on stderr; with json, the report of reconcile is printed there, too' -r -f -a "text\t'For people'
json\t'A JSON object a line, with time, level and message'"
complete -c mipam -n "__fish_mipam_using_subcommand allocate" -l config -d 'The file with the address pools, or configmap/NAMESPACE/NAME for the one in the cluster [default: ./ipam-config.yaml, with --dir first DIR/ipam-config.yaml]' -r -F
complete -c mipam -n "__fish_mipam_using_subcommand allocate" -l dir -d 'Use the YAML and JSON files below DIR as the cluster' -r -f -a "(__fish_complete_directories)"
complete -c mipam -n "__fish_mipam_using_subcommand allocate" -l kubeconfig -d 'How to reach the cluster [default: $KUBECONFIG, ~/.kube/config, or the pod\'s own account]' -r -F
complete -c mipam -n "__fish_mipam_using_subcommand allocate" -l context -d 'The kubeconfig context to use [default: the current one]' -r
complete -c mipam -n "__fish_mipam_using_subcommand allocate" -l apiserver -d 'The address of the API server, in place of the one in the kubeconfig' -r -f
complete -c mipam -n "__fish_mipam_using_subcommand allocate" -s n -l namespace -d 'Serve only the machines in this namespace [default: all]' -r
complete -c mipam -n "__fish_mipam_using_subcommand allocate" -l systems -d 'Serve only these kinds of machine, for example openshift; separate with commas [default: all]' -r
complete -c mipam -n "__fish_mipam_using_subcommand allocate" -l request-timeout -d 'How long one request to the cluster may take, for example 30s or 1m30s' -r
complete -c mipam -n "__fish_mipam_using_subcommand allocate" -l dry-run -d 'Show what would be done, and write nothing'
complete -c mipam -n "__fish_mipam_using_subcommand allocate" -l diff -d 'Show the objects that change, line by line'
complete -c mipam -n "__fish_mipam_using_subcommand allocate" -l allow-shrink -d 'Let go of ranges that the configuration or --network no longer has, if nobody holds an address of them'
complete -c mipam -n "__fish_mipam_using_subcommand allocate" -s v -l verbose -d 'Say more about what is done, on stderr'
complete -c mipam -n "__fish_mipam_using_subcommand allocate" -s q -l quiet -d 'Print no warnings and no progress, only data and errors'
complete -c mipam -n "__fish_mipam_using_subcommand allocate" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c mipam -n "__fish_mipam_using_subcommand release" -l from-report -d 'All addresses whose owners are gone, of a report that `status -o json` wrote; `-` reads stdin' -r -F
complete -c mipam -n "__fish_mipam_using_subcommand release" -l pool -d 'The pool of the address, where several networks use the same one' -r
complete -c mipam -n "__fish_mipam_using_subcommand release" -s o -l output -d 'How to print the report' -r -f -a "table\t'Columns for people'
wide\t'The same with more columns'
json\t'For programs'
yaml\t'For programs that prefer YAML'
name\t'One name or address a line'"
complete -c mipam -n "__fish_mipam_using_subcommand release" -l color -d 'When to use colour' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Even into a file or a pipe'
never\t'Not at all'"
complete -c mipam -n "__fish_mipam_using_subcommand release" -l log-format -d 'How to print what is not data, on stderr; with json, the report of reconcile is printed there, too' -r -f -a "text\t'For people'
json\t'A JSON object a line, with time, level and message'"
complete -c mipam -n "__fish_mipam_using_subcommand release" -l config -d 'The file with the address pools, or configmap/NAMESPACE/NAME for the one in the cluster [default: ./ipam-config.yaml, with --dir first DIR/ipam-config.yaml]' -r -F
complete -c mipam -n "__fish_mipam_using_subcommand release" -l dir -d 'Use the YAML and JSON files below DIR as the cluster' -r -f -a "(__fish_complete_directories)"
complete -c mipam -n "__fish_mipam_using_subcommand release" -l kubeconfig -d 'How to reach the cluster [default: $KUBECONFIG, ~/.kube/config, or the pod\'s own account]' -r -F
complete -c mipam -n "__fish_mipam_using_subcommand release" -l context -d 'The kubeconfig context to use [default: the current one]' -r
complete -c mipam -n "__fish_mipam_using_subcommand release" -l apiserver -d 'The address of the API server, in place of the one in the kubeconfig' -r -f
complete -c mipam -n "__fish_mipam_using_subcommand release" -s n -l namespace -d 'Serve only the machines in this namespace [default: all]' -r
complete -c mipam -n "__fish_mipam_using_subcommand release" -l systems -d 'Serve only these kinds of machine, for example openshift; separate with commas [default: all]' -r
complete -c mipam -n "__fish_mipam_using_subcommand release" -l request-timeout -d 'How long one request to the cluster may take, for example 30s or 1m30s' -r
complete -c mipam -n "__fish_mipam_using_subcommand release" -s y -l yes -d 'Do not ask; without a terminal only --force needs it'
complete -c mipam -n "__fish_mipam_using_subcommand release" -l force -d 'Release even though the object that holds the address exists'
complete -c mipam -n "__fish_mipam_using_subcommand release" -l dry-run -d 'Show what would be done, and write nothing'
complete -c mipam -n "__fish_mipam_using_subcommand release" -s v -l verbose -d 'Say more about what is done, on stderr'
complete -c mipam -n "__fish_mipam_using_subcommand release" -s q -l quiet -d 'Print no warnings and no progress, only data and errors'
complete -c mipam -n "__fish_mipam_using_subcommand release" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c mipam -n "__fish_mipam_using_subcommand status" -l pool -d 'Only this pool' -r
complete -c mipam -n "__fish_mipam_using_subcommand status" -l network -d 'A network for Kubermatic machines, beside the pools of the configuration file, which may then be missing; give it again for another one, which serves when those before it are full' -r
complete -c mipam -n "__fish_mipam_using_subcommand status" -s o -l output -d 'How to print the report' -r -f -a "table\t'Columns for people'
wide\t'The same with more columns'
json\t'For programs'
yaml\t'For programs that prefer YAML'
name\t'One name or address a line'"
complete -c mipam -n "__fish_mipam_using_subcommand status" -l color -d 'When to use colour' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Even into a file or a pipe'
never\t'Not at all'"
complete -c mipam -n "__fish_mipam_using_subcommand status" -l log-format -d 'How to print what is not data, on stderr; with json, the report of reconcile is printed there, too' -r -f -a "text\t'For people'
json\t'A JSON object a line, with time, level and message'"
complete -c mipam -n "__fish_mipam_using_subcommand status" -l config -d 'The file with the address pools, or configmap/NAMESPACE/NAME for the one in the cluster [default: ./ipam-config.yaml, with --dir first DIR/ipam-config.yaml]' -r -F
complete -c mipam -n "__fish_mipam_using_subcommand status" -l dir -d 'Use the YAML and JSON files below DIR as the cluster' -r -f -a "(__fish_complete_directories)"
complete -c mipam -n "__fish_mipam_using_subcommand status" -l kubeconfig -d 'How to reach the cluster [default: $KUBECONFIG, ~/.kube/config, or the pod\'s own account]' -r -F
complete -c mipam -n "__fish_mipam_using_subcommand status" -l context -d 'The kubeconfig context to use [default: the current one]' -r
complete -c mipam -n "__fish_mipam_using_subcommand status" -l apiserver -d 'The address of the API server, in place of the one in the kubeconfig' -r -f
complete -c mipam -n "__fish_mipam_using_subcommand status" -s n -l namespace -d 'Serve only the machines in this namespace [default: all]' -r
complete -c mipam -n "__fish_mipam_using_subcommand status" -l systems -d 'Serve only these kinds of machine, for example openshift; separate with commas [default: all]' -r
complete -c mipam -n "__fish_mipam_using_subcommand status" -l request-timeout -d 'How long one request to the cluster may take, for example 30s or 1m30s' -r
complete -c mipam -n "__fish_mipam_using_subcommand status" -l addresses -d 'List every address that is given out, and to whom'
complete -c mipam -n "__fish_mipam_using_subcommand status" -l map -d 'Draw each pool, one character for an address'
complete -c mipam -n "__fish_mipam_using_subcommand status" -l allow-shrink -d 'Let go of ranges that the configuration or --network no longer has, if nobody holds an address of them'
complete -c mipam -n "__fish_mipam_using_subcommand status" -s v -l verbose -d 'Say more about what is done, on stderr'
complete -c mipam -n "__fish_mipam_using_subcommand status" -s q -l quiet -d 'Print no warnings and no progress, only data and errors'
complete -c mipam -n "__fish_mipam_using_subcommand status" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c mipam -n "__fish_mipam_using_subcommand render-nmstate" -l address -d 'Instead of a machine: any address of a pool' -r
complete -c mipam -n "__fish_mipam_using_subcommand render-nmstate" -l pool -d 'The pool of that address' -r
complete -c mipam -n "__fish_mipam_using_subcommand render-nmstate" -s o -l output -d 'How to print the configuration' -r -f -a "nmstate\t'What nmstatectl takes'
networkmanager\t'The connection files that NetworkManager takes'
json\t'The nmstate document as JSON'
yaml\t'The nmstate document as YAML'"
complete -c mipam -n "__fish_mipam_using_subcommand render-nmstate" -l color -d 'When to use colour' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Even into a file or a pipe'
never\t'Not at all'"
complete -c mipam -n "__fish_mipam_using_subcommand render-nmstate" -l log-format -d 'How to print what is not data, on stderr; with json, the report of reconcile is printed there, too' -r -f -a "text\t'For people'
json\t'A JSON object a line, with time, level and message'"
complete -c mipam -n "__fish_mipam_using_subcommand render-nmstate" -l config -d 'The file with the address pools, or configmap/NAMESPACE/NAME for the one in the cluster [default: ./ipam-config.yaml, with --dir first DIR/ipam-config.yaml]' -r -F
complete -c mipam -n "__fish_mipam_using_subcommand render-nmstate" -l dir -d 'Use the YAML and JSON files below DIR as the cluster' -r -f -a "(__fish_complete_directories)"
complete -c mipam -n "__fish_mipam_using_subcommand render-nmstate" -l kubeconfig -d 'How to reach the cluster [default: $KUBECONFIG, ~/.kube/config, or the pod\'s own account]' -r -F
complete -c mipam -n "__fish_mipam_using_subcommand render-nmstate" -l context -d 'The kubeconfig context to use [default: the current one]' -r
complete -c mipam -n "__fish_mipam_using_subcommand render-nmstate" -l apiserver -d 'The address of the API server, in place of the one in the kubeconfig' -r -f
complete -c mipam -n "__fish_mipam_using_subcommand render-nmstate" -s n -l namespace -d 'Serve only the machines in this namespace [default: all]' -r
complete -c mipam -n "__fish_mipam_using_subcommand render-nmstate" -l systems -d 'Serve only these kinds of machine, for example openshift; separate with commas [default: all]' -r
complete -c mipam -n "__fish_mipam_using_subcommand render-nmstate" -l request-timeout -d 'How long one request to the cluster may take, for example 30s or 1m30s' -r
complete -c mipam -n "__fish_mipam_using_subcommand render-nmstate" -s v -l verbose -d 'Say more about what is done, on stderr'
complete -c mipam -n "__fish_mipam_using_subcommand render-nmstate" -s q -l quiet -d 'Print no warnings and no progress, only data and errors'
complete -c mipam -n "__fish_mipam_using_subcommand render-nmstate" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c mipam -n "__fish_mipam_using_subcommand check-capacity" -l pool -d 'Only this pool [default: all]' -r
complete -c mipam -n "__fish_mipam_using_subcommand check-capacity" -l need -d 'How many more machines need an address of each family' -r
complete -c mipam -n "__fish_mipam_using_subcommand check-capacity" -l for -d 'What you want to scale, as KIND[.GROUP]/NAMESPACE/NAME' -r
complete -c mipam -n "__fish_mipam_using_subcommand check-capacity" -l replicas -d 'To how many machines in all' -r
complete -c mipam -n "__fish_mipam_using_subcommand check-capacity" -l nodes -d 'How many more Nodes need pod CIDRs from ClusterCIDRs' -r
complete -c mipam -n "__fish_mipam_using_subcommand check-capacity" -l labels -d 'The labels of those Nodes' -r
complete -c mipam -n "__fish_mipam_using_subcommand check-capacity" -l network -d 'A network for Kubermatic machines, beside the pools of the configuration file, which may then be missing; give it again for another one, which serves when those before it are full' -r
complete -c mipam -n "__fish_mipam_using_subcommand check-capacity" -s o -l output -d 'How to print the report' -r -f -a "table\t'Columns for people'
wide\t'The same with more columns'
json\t'For programs'
yaml\t'For programs that prefer YAML'
name\t'One name or address a line'"
complete -c mipam -n "__fish_mipam_using_subcommand check-capacity" -l color -d 'When to use colour' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Even into a file or a pipe'
never\t'Not at all'"
complete -c mipam -n "__fish_mipam_using_subcommand check-capacity" -l log-format -d 'How to print what is not data, on stderr; with json, the report of reconcile is printed there, too' -r -f -a "text\t'For people'
json\t'A JSON object a line, with time, level and message'"
complete -c mipam -n "__fish_mipam_using_subcommand check-capacity" -l config -d 'The file with the address pools, or configmap/NAMESPACE/NAME for the one in the cluster [default: ./ipam-config.yaml, with --dir first DIR/ipam-config.yaml]' -r -F
complete -c mipam -n "__fish_mipam_using_subcommand check-capacity" -l dir -d 'Use the YAML and JSON files below DIR as the cluster' -r -f -a "(__fish_complete_directories)"
complete -c mipam -n "__fish_mipam_using_subcommand check-capacity" -l kubeconfig -d 'How to reach the cluster [default: $KUBECONFIG, ~/.kube/config, or the pod\'s own account]' -r -F
complete -c mipam -n "__fish_mipam_using_subcommand check-capacity" -l context -d 'The kubeconfig context to use [default: the current one]' -r
complete -c mipam -n "__fish_mipam_using_subcommand check-capacity" -l apiserver -d 'The address of the API server, in place of the one in the kubeconfig' -r -f
complete -c mipam -n "__fish_mipam_using_subcommand check-capacity" -s n -l namespace -d 'Serve only the machines in this namespace [default: all]' -r
complete -c mipam -n "__fish_mipam_using_subcommand check-capacity" -l systems -d 'Serve only these kinds of machine, for example openshift; separate with commas [default: all]' -r
complete -c mipam -n "__fish_mipam_using_subcommand check-capacity" -l request-timeout -d 'How long one request to the cluster may take, for example 30s or 1m30s' -r
complete -c mipam -n "__fish_mipam_using_subcommand check-capacity" -l allow-shrink -d 'Let go of ranges that the configuration or --network no longer has, if nobody holds an address of them'
complete -c mipam -n "__fish_mipam_using_subcommand check-capacity" -s v -l verbose -d 'Say more about what is done, on stderr'
complete -c mipam -n "__fish_mipam_using_subcommand check-capacity" -s q -l quiet -d 'Print no warnings and no progress, only data and errors'
complete -c mipam -n "__fish_mipam_using_subcommand check-capacity" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c mipam -n "__fish_mipam_using_subcommand detach" -s o -l output -d 'How to print the report' -r -f -a "table\t'Columns for people'
wide\t'The same with more columns'
json\t'For programs'
yaml\t'For programs that prefer YAML'
name\t'One name or address a line'"
complete -c mipam -n "__fish_mipam_using_subcommand detach" -l color -d 'When to use colour' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Even into a file or a pipe'
never\t'Not at all'"
complete -c mipam -n "__fish_mipam_using_subcommand detach" -l log-format -d 'How to print what is not data, on stderr; with json, the report of reconcile is printed there, too' -r -f -a "text\t'For people'
json\t'A JSON object a line, with time, level and message'"
complete -c mipam -n "__fish_mipam_using_subcommand detach" -l config -d 'The file with the address pools, or configmap/NAMESPACE/NAME for the one in the cluster [default: ./ipam-config.yaml, with --dir first DIR/ipam-config.yaml]' -r -F
complete -c mipam -n "__fish_mipam_using_subcommand detach" -l dir -d 'Use the YAML and JSON files below DIR as the cluster' -r -f -a "(__fish_complete_directories)"
complete -c mipam -n "__fish_mipam_using_subcommand detach" -l kubeconfig -d 'How to reach the cluster [default: $KUBECONFIG, ~/.kube/config, or the pod\'s own account]' -r -F
complete -c mipam -n "__fish_mipam_using_subcommand detach" -l context -d 'The kubeconfig context to use [default: the current one]' -r
complete -c mipam -n "__fish_mipam_using_subcommand detach" -l apiserver -d 'The address of the API server, in place of the one in the kubeconfig' -r -f
complete -c mipam -n "__fish_mipam_using_subcommand detach" -s n -l namespace -d 'Serve only the machines in this namespace [default: all]' -r
complete -c mipam -n "__fish_mipam_using_subcommand detach" -l systems -d 'Serve only these kinds of machine, for example openshift; separate with commas [default: all]' -r
complete -c mipam -n "__fish_mipam_using_subcommand detach" -l request-timeout -d 'How long one request to the cluster may take, for example 30s or 1m30s' -r
complete -c mipam -n "__fish_mipam_using_subcommand detach" -s y -l yes -d 'Do not ask; without a terminal only --force needs it'
complete -c mipam -n "__fish_mipam_using_subcommand detach" -l force -d 'Let machines go that wait for an address, without one'
complete -c mipam -n "__fish_mipam_using_subcommand detach" -l dry-run -d 'Show what would be done, and write nothing'
complete -c mipam -n "__fish_mipam_using_subcommand detach" -l diff -d 'Show the objects that change, line by line'
complete -c mipam -n "__fish_mipam_using_subcommand detach" -s v -l verbose -d 'Say more about what is done, on stderr'
complete -c mipam -n "__fish_mipam_using_subcommand detach" -s q -l quiet -d 'Print no warnings and no progress, only data and errors'
complete -c mipam -n "__fish_mipam_using_subcommand detach" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c mipam -n "__fish_mipam_using_subcommand webhook" -l listen -d 'Where to answer reviews, as :PORT or HOST:PORT' -r
complete -c mipam -n "__fish_mipam_using_subcommand webhook" -l health-probe-address -d 'Where /healthz, /readyz and /metrics are served, as :PORT or HOST:PORT' -r
complete -c mipam -n "__fish_mipam_using_subcommand webhook" -l tls-cert -d 'The certificate to show, as PEM; read again when it changes' -r -F
complete -c mipam -n "__fish_mipam_using_subcommand webhook" -l tls-key -d 'The key of the certificate, as PEM' -r -F
complete -c mipam -n "__fish_mipam_using_subcommand webhook" -l tls-name -d 'With --self-signed: another name or address that the API server reaches the webhook by' -r
complete -c mipam -n "__fish_mipam_using_subcommand webhook" -l service -d 'With --self-signed: the Service of the webhook' -r
complete -c mipam -n "__fish_mipam_using_subcommand webhook" -l service-namespace -d 'With --self-signed: the namespace of the Service and of the Secret' -r
complete -c mipam -n "__fish_mipam_using_subcommand webhook" -l secret -d 'With --self-signed: the Secret' -r
complete -c mipam -n "__fish_mipam_using_subcommand webhook" -l configuration -d 'With --self-signed: the MutatingWebhookConfiguration' -r
complete -c mipam -n "__fish_mipam_using_subcommand webhook" -l default-network-nad-namespace -d 'The namespace of the NetworkAttachmentDefinition `default`, which stands for the network of the pods' -r
complete -c mipam -n "__fish_mipam_using_subcommand webhook" -l review-timeout -d 'The longest that a review may take: less than timeoutSeconds of the MutatingWebhookConfiguration' -r
complete -c mipam -n "__fish_mipam_using_subcommand webhook" -l color -d 'When to use colour' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Even into a file or a pipe'
never\t'Not at all'"
complete -c mipam -n "__fish_mipam_using_subcommand webhook" -l log-format -d 'How to print what is not data, on stderr; with json, the report of reconcile is printed there, too' -r -f -a "text\t'For people'
json\t'A JSON object a line, with time, level and message'"
complete -c mipam -n "__fish_mipam_using_subcommand webhook" -l config -d 'The file with the address pools, or configmap/NAMESPACE/NAME for the one in the cluster [default: ./ipam-config.yaml, with --dir first DIR/ipam-config.yaml]' -r -F
complete -c mipam -n "__fish_mipam_using_subcommand webhook" -l dir -d 'Use the YAML and JSON files below DIR as the cluster' -r -f -a "(__fish_complete_directories)"
complete -c mipam -n "__fish_mipam_using_subcommand webhook" -l kubeconfig -d 'How to reach the cluster [default: $KUBECONFIG, ~/.kube/config, or the pod\'s own account]' -r -F
complete -c mipam -n "__fish_mipam_using_subcommand webhook" -l context -d 'The kubeconfig context to use [default: the current one]' -r
complete -c mipam -n "__fish_mipam_using_subcommand webhook" -l apiserver -d 'The address of the API server, in place of the one in the kubeconfig' -r -f
complete -c mipam -n "__fish_mipam_using_subcommand webhook" -s n -l namespace -d 'Serve only the machines in this namespace [default: all]' -r
complete -c mipam -n "__fish_mipam_using_subcommand webhook" -l systems -d 'Serve only these kinds of machine, for example openshift; separate with commas [default: all]' -r
complete -c mipam -n "__fish_mipam_using_subcommand webhook" -l request-timeout -d 'How long one request to the cluster may take, for example 30s or 1m30s' -r
complete -c mipam -n "__fish_mipam_using_subcommand webhook" -l self-signed -d 'Make a certificate, keep it in a Secret, and tell the API server to believe it'
complete -c mipam -n "__fish_mipam_using_subcommand webhook" -s v -l verbose -d 'Say more about what is done, on stderr'
complete -c mipam -n "__fish_mipam_using_subcommand webhook" -s q -l quiet -d 'Print no warnings and no progress, only data and errors'
complete -c mipam -n "__fish_mipam_using_subcommand webhook" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c mipam -n "__fish_mipam_using_subcommand completions" -l color -d 'When to use colour' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Even into a file or a pipe'
never\t'Not at all'"
complete -c mipam -n "__fish_mipam_using_subcommand completions" -l log-format -d 'How to print what is not data, on stderr; with json, the report of reconcile is printed there, too' -r -f -a "text\t'For people'
json\t'A JSON object a line, with time, level and message'"
complete -c mipam -n "__fish_mipam_using_subcommand completions" -l config -d 'The file with the address pools, or configmap/NAMESPACE/NAME for the one in the cluster [default: ./ipam-config.yaml, with --dir first DIR/ipam-config.yaml]' -r -F
complete -c mipam -n "__fish_mipam_using_subcommand completions" -l dir -d 'Use the YAML and JSON files below DIR as the cluster' -r -f -a "(__fish_complete_directories)"
complete -c mipam -n "__fish_mipam_using_subcommand completions" -l kubeconfig -d 'How to reach the cluster [default: $KUBECONFIG, ~/.kube/config, or the pod\'s own account]' -r -F
complete -c mipam -n "__fish_mipam_using_subcommand completions" -l context -d 'The kubeconfig context to use [default: the current one]' -r
complete -c mipam -n "__fish_mipam_using_subcommand completions" -l apiserver -d 'The address of the API server, in place of the one in the kubeconfig' -r -f
complete -c mipam -n "__fish_mipam_using_subcommand completions" -s n -l namespace -d 'Serve only the machines in this namespace [default: all]' -r
complete -c mipam -n "__fish_mipam_using_subcommand completions" -l systems -d 'Serve only these kinds of machine, for example openshift; separate with commas [default: all]' -r
complete -c mipam -n "__fish_mipam_using_subcommand completions" -l request-timeout -d 'How long one request to the cluster may take, for example 30s or 1m30s' -r
complete -c mipam -n "__fish_mipam_using_subcommand completions" -s v -l verbose -d 'Say more about what is done, on stderr'
complete -c mipam -n "__fish_mipam_using_subcommand completions" -s q -l quiet -d 'Print no warnings and no progress, only data and errors'
complete -c mipam -n "__fish_mipam_using_subcommand completions" -s h -l help -d 'Print help'
complete -c mipam -n "__fish_mipam_using_subcommand man" -l color -d 'When to use colour' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Even into a file or a pipe'
never\t'Not at all'"
complete -c mipam -n "__fish_mipam_using_subcommand man" -l log-format -d 'How to print what is not data, on stderr; with json, the report of reconcile is printed there, too' -r -f -a "text\t'For people'
json\t'A JSON object a line, with time, level and message'"
complete -c mipam -n "__fish_mipam_using_subcommand man" -l config -d 'The file with the address pools, or configmap/NAMESPACE/NAME for the one in the cluster [default: ./ipam-config.yaml, with --dir first DIR/ipam-config.yaml]' -r -F
complete -c mipam -n "__fish_mipam_using_subcommand man" -l dir -d 'Use the YAML and JSON files below DIR as the cluster' -r -f -a "(__fish_complete_directories)"
complete -c mipam -n "__fish_mipam_using_subcommand man" -l kubeconfig -d 'How to reach the cluster [default: $KUBECONFIG, ~/.kube/config, or the pod\'s own account]' -r -F
complete -c mipam -n "__fish_mipam_using_subcommand man" -l context -d 'The kubeconfig context to use [default: the current one]' -r
complete -c mipam -n "__fish_mipam_using_subcommand man" -l apiserver -d 'The address of the API server, in place of the one in the kubeconfig' -r -f
complete -c mipam -n "__fish_mipam_using_subcommand man" -s n -l namespace -d 'Serve only the machines in this namespace [default: all]' -r
complete -c mipam -n "__fish_mipam_using_subcommand man" -l systems -d 'Serve only these kinds of machine, for example openshift; separate with commas [default: all]' -r
complete -c mipam -n "__fish_mipam_using_subcommand man" -l request-timeout -d 'How long one request to the cluster may take, for example 30s or 1m30s' -r
complete -c mipam -n "__fish_mipam_using_subcommand man" -s v -l verbose -d 'Say more about what is done, on stderr'
complete -c mipam -n "__fish_mipam_using_subcommand man" -s q -l quiet -d 'Print no warnings and no progress, only data and errors'
complete -c mipam -n "__fish_mipam_using_subcommand man" -s h -l help -d 'Print help'
complete -c mipam -n "__fish_mipam_using_subcommand help; and not __fish_seen_subcommand_from reconcile allocate release status render-nmstate check-capacity detach webhook completions man help" -f -a "reconcile" -d 'Give every waiting machine its addresses, and free those whose machine is gone'
complete -c mipam -n "__fish_mipam_using_subcommand help; and not __fish_seen_subcommand_from reconcile allocate release status render-nmstate check-capacity detach webhook completions man help" -f -a "allocate" -d 'Take addresses out of a pool, for an object or for yourself'
complete -c mipam -n "__fish_mipam_using_subcommand help; and not __fish_seen_subcommand_from reconcile allocate release status render-nmstate check-capacity detach webhook completions man help" -f -a "release" -d 'Give an address back to its pool'
complete -c mipam -n "__fish_mipam_using_subcommand help; and not __fish_seen_subcommand_from reconcile allocate release status render-nmstate check-capacity detach webhook completions man help" -f -a "status" -d 'Show how full the pools are, who waits, and what is wrong'
complete -c mipam -n "__fish_mipam_using_subcommand help; and not __fish_seen_subcommand_from reconcile allocate release status render-nmstate check-capacity detach webhook completions man help" -f -a "render-nmstate" -d 'Print a machine\'s network configuration, without writing anything'
complete -c mipam -n "__fish_mipam_using_subcommand help; and not __fish_seen_subcommand_from reconcile allocate release status render-nmstate check-capacity detach webhook completions man help" -f -a "check-capacity" -d 'Tell whether there are enough free addresses for what you plan'
complete -c mipam -n "__fish_mipam_using_subcommand help; and not __fish_seen_subcommand_from reconcile allocate release status render-nmstate check-capacity detach webhook completions man help" -f -a "detach" -d 'Take mipam\'s hooks and finalizers off every object, so that it can be uninstalled'
complete -c mipam -n "__fish_mipam_using_subcommand help; and not __fish_seen_subcommand_from reconcile allocate release status render-nmstate check-capacity detach webhook completions man help" -f -a "webhook" -d 'Answer the API server that asks about KubeVirt\'s launcher pods'
complete -c mipam -n "__fish_mipam_using_subcommand help; and not __fish_seen_subcommand_from reconcile allocate release status render-nmstate check-capacity detach webhook completions man help" -f -a "completions" -d 'Print a completion script for your shell'
complete -c mipam -n "__fish_mipam_using_subcommand help; and not __fish_seen_subcommand_from reconcile allocate release status render-nmstate check-capacity detach webhook completions man help" -f -a "man" -d 'Print the manual pages'
complete -c mipam -n "__fish_mipam_using_subcommand help; and not __fish_seen_subcommand_from reconcile allocate release status render-nmstate check-capacity detach webhook completions man help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
