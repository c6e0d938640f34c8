
use builtin;
use str;

set edit:completion:arg-completer[mipam] = {|@words|
    fn spaces {|n|
        builtin:repeat $n ' ' | str:join ''
    }
    fn cand {|text desc|
        edit:complex-candidate $text &display=$text' '(spaces (- 14 (wcswidth $text)))$desc
    }
    var command = 'mipam'
    for word $words[1..-1] {
        if (str:has-prefix $word '-') {
            break
        }
        set command = $command';'$word
    }
    var completions = [
        &'mipam'= {
            cand --color 'When to use colour'
            cand --config 'The file with the address pools [default: ./ipam-config.yaml, with --dir first DIR/ipam-config.yaml]'
            cand --dir 'Use the YAML and JSON files below DIR as the cluster'
            cand --kubeconfig 'How to reach the cluster [default: $KUBECONFIG, ~/.kube/config, or the pod''s own account]'
            cand --context 'The kubeconfig context to use [default: the current one]'
            cand --apiserver 'The address of the API server, in place of the one in the kubeconfig'
            cand -n 'Serve only the machines in this namespace [default: all]'
            cand --namespace 'Serve only the machines in this namespace [default: all]'
            cand --systems 'Serve only these kinds of machine, for example openshift; separate with commas [default: all]'
            cand --request-timeout 'How long one request to the cluster may take, for example 30s or 1m30s'
            cand -v 'Say more about what is done, on stderr'
            cand --verbose 'Say more about what is done, on stderr'
            cand -q 'Print no warnings and no progress, only data and errors'
            cand --quiet 'Print no warnings and no progress, only data and errors'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
            cand -V 'Print version'
            cand --version 'Print version'
            cand reconcile 'Give every waiting machine its addresses, and free those whose machine is gone'
            cand allocate 'Take addresses out of a pool, for an object or for yourself'
            cand release 'Give an address back to its pool'
            cand status 'Show how full the pools are, who waits, and what is wrong'
            cand render-nmstate 'Print a machine''s network configuration, without writing anything'
            cand check-capacity 'Tell whether there are enough free addresses for what you plan'
            cand completions 'Print a completion script for your shell'
            cand man 'Print the manual pages'
            cand help 'Print this message or the help of the given subcommand(s)'
        }
        &'mipam;reconcile'= {
            cand --out 'With --dir: leave the files there alone and write the result to this directory'
            cand --max-in-flight 'How many writes may be under way at the same time'
            cand --publish-capacity 'After the pass, publish the free addresses for the admission policy of Kubermatic machines, to be believed for so long: at least twice as long as from one run to the next, for example 10m'
            cand --network 'A network for Kubermatic machines, beside the pools of the configuration file, which may then be missing; give it again for another one, which serves when those before it are full'
            cand -o 'How to print the report'
            cand --output 'How to print the report'
            cand --color 'When to use colour'
            cand --config 'The file with the address pools [default: ./ipam-config.yaml, with --dir first DIR/ipam-config.yaml]'
            cand --dir 'Use the YAML and JSON files below DIR as the cluster'
            cand --kubeconfig 'How to reach the cluster [default: $KUBECONFIG, ~/.kube/config, or the pod''s own account]'
            cand --context 'The kubeconfig context to use [default: the current one]'
            cand --apiserver 'The address of the API server, in place of the one in the kubeconfig'
            cand -n 'Serve only the machines in this namespace [default: all]'
            cand --namespace 'Serve only the machines in this namespace [default: all]'
            cand --systems 'Serve only these kinds of machine, for example openshift; separate with commas [default: all]'
            cand --request-timeout 'How long one request to the cluster may take, for example 30s or 1m30s'
            cand --dry-run 'Show what would be done, and write nothing'
            cand --diff 'Show the objects that change, line by line'
            cand --allow-shrink 'Let go of ranges that the configuration or --network no longer has, if nobody holds an address of them'
            cand -v 'Say more about what is done, on stderr'
            cand --verbose 'Say more about what is done, on stderr'
            cand -q 'Print no warnings and no progress, only data and errors'
            cand --quiet 'Print no warnings and no progress, only data and errors'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'mipam;allocate'= {
            cand --pool 'The pool to take from'
            cand --for 'The object that gets the address, as KIND[.GROUP]/NAMESPACE/NAME'
            cand --name 'Hold the address under this name, for use outside the cluster'
            cand --address 'The very address to take [default: the lowest free one]'
            cand --count 'How many addresses to hold [default: 1]'
            cand --network 'A network for Kubermatic machines, beside the pools of the configuration file, which may then be missing; give it again for another one, which serves when those before it are full'
            cand -o 'How to print the report'
            cand --output 'How to print the report'
            cand --color 'When to use colour'
            cand --config 'The file with the address pools [default: ./ipam-config.yaml, with --dir first DIR/ipam-config.yaml]'
            cand --dir 'Use the YAML and JSON files below DIR as the cluster'
            cand --kubeconfig 'How to reach the cluster [default: $KUBECONFIG, ~/.kube/config, or the pod''s own account]'
            cand --context 'The kubeconfig context to use [default: the current one]'
            cand --apiserver 'The address of the API server, in place of the one in the kubeconfig'
            cand -n 'Serve only the machines in this namespace [default: all]'
            cand --namespace 'Serve only the machines in this namespace [default: all]'
            cand --systems 'Serve only these kinds of machine, for example openshift; separate with commas [default: all]'
            cand --request-timeout 'How long one request to the cluster may take, for example 30s or 1m30s'
            cand --dry-run 'Show what would be done, and write nothing'
            cand --diff 'Show the objects that change, line by line'
            cand --allow-shrink 'Let go of ranges that the configuration or --network no longer has, if nobody holds an address of them'
            cand -v 'Say more about what is done, on stderr'
            cand --verbose 'Say more about what is done, on stderr'
            cand -q 'Print no warnings and no progress, only data and errors'
            cand --quiet 'Print no warnings and no progress, only data and errors'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'mipam;release'= {
            cand --from-report 'All addresses whose owners are gone, of a report that `status -o json` wrote; `-` reads stdin'
            cand --pool 'The pool of the address, where several networks use the same one'
            cand -o 'How to print the report'
            cand --output 'How to print the report'
            cand --color 'When to use colour'
            cand --config 'The file with the address pools [default: ./ipam-config.yaml, with --dir first DIR/ipam-config.yaml]'
            cand --dir 'Use the YAML and JSON files below DIR as the cluster'
            cand --kubeconfig 'How to reach the cluster [default: $KUBECONFIG, ~/.kube/config, or the pod''s own account]'
            cand --context 'The kubeconfig context to use [default: the current one]'
            cand --apiserver 'The address of the API server, in place of the one in the kubeconfig'
            cand -n 'Serve only the machines in this namespace [default: all]'
            cand --namespace 'Serve only the machines in this namespace [default: all]'
            cand --systems 'Serve only these kinds of machine, for example openshift; separate with commas [default: all]'
            cand --request-timeout 'How long one request to the cluster may take, for example 30s or 1m30s'
            cand -y 'Do not ask; without a terminal only --force needs it'
            cand --yes 'Do not ask; without a terminal only --force needs it'
            cand --force 'Release even though the object that holds the address exists'
            cand --dry-run 'Show what would be done, and write nothing'
            cand -v 'Say more about what is done, on stderr'
            cand --verbose 'Say more about what is done, on stderr'
            cand -q 'Print no warnings and no progress, only data and errors'
            cand --quiet 'Print no warnings and no progress, only data and errors'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'mipam;status'= {
            cand --pool 'Only this pool'
            cand --network 'A network for Kubermatic machines, beside the pools of the configuration file, which may then be missing; give it again for another one, which serves when those before it are full'
            cand -o 'How to print the report'
            cand --output 'How to print the report'
            cand --color 'When to use colour'
            cand --config 'The file with the address pools [default: ./ipam-config.yaml, with --dir first DIR/ipam-config.yaml]'
            cand --dir 'Use the YAML and JSON files below DIR as the cluster'
            cand --kubeconfig 'How to reach the cluster [default: $KUBECONFIG, ~/.kube/config, or the pod''s own account]'
            cand --context 'The kubeconfig context to use [default: the current one]'
            cand --apiserver 'The address of the API server, in place of the one in the kubeconfig'
            cand -n 'Serve only the machines in this namespace [default: all]'
            cand --namespace 'Serve only the machines in this namespace [default: all]'
            cand --systems 'Serve only these kinds of machine, for example openshift; separate with commas [default: all]'
            cand --request-timeout 'How long one request to the cluster may take, for example 30s or 1m30s'
            cand --addresses 'List every address that is given out, and to whom'
            cand --map 'Draw each pool, one character for an address'
            cand --allow-shrink 'Let go of ranges that the configuration or --network no longer has, if nobody holds an address of them'
            cand -v 'Say more about what is done, on stderr'
            cand --verbose 'Say more about what is done, on stderr'
            cand -q 'Print no warnings and no progress, only data and errors'
            cand --quiet 'Print no warnings and no progress, only data and errors'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'mipam;render-nmstate'= {
            cand --address 'Instead of a machine: any address of a pool'
            cand --pool 'The pool of that address'
            cand -o 'How to print the configuration'
            cand --output 'How to print the configuration'
            cand --color 'When to use colour'
            cand --config 'The file with the address pools [default: ./ipam-config.yaml, with --dir first DIR/ipam-config.yaml]'
            cand --dir 'Use the YAML and JSON files below DIR as the cluster'
            cand --kubeconfig 'How to reach the cluster [default: $KUBECONFIG, ~/.kube/config, or the pod''s own account]'
            cand --context 'The kubeconfig context to use [default: the current one]'
            cand --apiserver 'The address of the API server, in place of the one in the kubeconfig'
            cand -n 'Serve only the machines in this namespace [default: all]'
            cand --namespace 'Serve only the machines in this namespace [default: all]'
            cand --systems 'Serve only these kinds of machine, for example openshift; separate with commas [default: all]'
            cand --request-timeout 'How long one request to the cluster may take, for example 30s or 1m30s'
            cand -v 'Say more about what is done, on stderr'
            cand --verbose 'Say more about what is done, on stderr'
            cand -q 'Print no warnings and no progress, only data and errors'
            cand --quiet 'Print no warnings and no progress, only data and errors'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'mipam;check-capacity'= {
            cand --pool 'Only this pool [default: all]'
            cand --need 'How many more machines need an address of each family'
            cand --for 'What you want to scale, as KIND[.GROUP]/NAMESPACE/NAME'
            cand --replicas 'To how many machines in all'
            cand --nodes 'How many more Nodes need pod CIDRs from ClusterCIDRs'
            cand --labels 'The labels of those Nodes'
            cand --network 'A network for Kubermatic machines, beside the pools of the configuration file, which may then be missing; give it again for another one, which serves when those before it are full'
            cand -o 'How to print the report'
            cand --output 'How to print the report'
            cand --color 'When to use colour'
            cand --config 'The file with the address pools [default: ./ipam-config.yaml, with --dir first DIR/ipam-config.yaml]'
            cand --dir 'Use the YAML and JSON files below DIR as the cluster'
            cand --kubeconfig 'How to reach the cluster [default: $KUBECONFIG, ~/.kube/config, or the pod''s own account]'
            cand --context 'The kubeconfig context to use [default: the current one]'
            cand --apiserver 'The address of the API server, in place of the one in the kubeconfig'
            cand -n 'Serve only the machines in this namespace [default: all]'
            cand --namespace 'Serve only the machines in this namespace [default: all]'
            cand --systems 'Serve only these kinds of machine, for example openshift; separate with commas [default: all]'
            cand --request-timeout 'How long one request to the cluster may take, for example 30s or 1m30s'
            cand --allow-shrink 'Let go of ranges that the configuration or --network no longer has, if nobody holds an address of them'
            cand -v 'Say more about what is done, on stderr'
            cand --verbose 'Say more about what is done, on stderr'
            cand -q 'Print no warnings and no progress, only data and errors'
            cand --quiet 'Print no warnings and no progress, only data and errors'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
        }
        &'mipam;completions'= {
            cand --color 'When to use colour'
            cand --config 'The file with the address pools [default: ./ipam-config.yaml, with --dir first DIR/ipam-config.yaml]'
            cand --dir 'Use the YAML and JSON files below DIR as the cluster'
            cand --kubeconfig 'How to reach the cluster [default: $KUBECONFIG, ~/.kube/config, or the pod''s own account]'
            cand --context 'The kubeconfig context to use [default: the current one]'
            cand --apiserver 'The address of the API server, in place of the one in the kubeconfig'
            cand -n 'Serve only the machines in this namespace [default: all]'
            cand --namespace 'Serve only the machines in this namespace [default: all]'
            cand --systems 'Serve only these kinds of machine, for example openshift; separate with commas [default: all]'
            cand --request-timeout 'How long one request to the cluster may take, for example 30s or 1m30s'
            cand -v 'Say more about what is done, on stderr'
            cand --verbose 'Say more about what is done, on stderr'
            cand -q 'Print no warnings and no progress, only data and errors'
            cand --quiet 'Print no warnings and no progress, only data and errors'
            cand -h 'Print help'
            cand --help 'Print help'
        }
        &'mipam;man'= {
            cand --color 'When to use colour'
            cand --config 'The file with the address pools [default: ./ipam-config.yaml, with --dir first DIR/ipam-config.yaml]'
            cand --dir 'Use the YAML and JSON files below DIR as the cluster'
            cand --kubeconfig 'How to reach the cluster [default: $KUBECONFIG, ~/.kube/config, or the pod''s own account]'
            cand --context 'The kubeconfig context to use [default: the current one]'
            cand --apiserver 'The address of the API server, in place of the one in the kubeconfig'
            cand -n 'Serve only the machines in this namespace [default: all]'
            cand --namespace 'Serve only the machines in this namespace [default: all]'
            cand --systems 'Serve only these kinds of machine, for example openshift; separate with commas [default: all]'
            cand --request-timeout 'How long one request to the cluster may take, for example 30s or 1m30s'
            cand -v 'Say more about what is done, on stderr'
            cand --verbose 'Say more about what is done, on stderr'
            cand -q 'Print no warnings and no progress, only data and errors'
            cand --quiet 'Print no warnings and no progress, only data and errors'
            cand -h 'Print help'
            cand --help 'Print help'
        }
        &'mipam;help'= {
            cand reconcile 'Give every waiting machine its addresses, and free those whose machine is gone'
            cand allocate 'Take addresses out of a pool, for an object or for yourself'
            cand release 'Give an address back to its pool'
            cand status 'Show how full the pools are, who waits, and what is wrong'
            cand render-nmstate 'Print a machine''s network configuration, without writing anything'
            cand check-capacity 'Tell whether there are enough free addresses for what you plan'
            cand completions 'Print a completion script for your shell'
            cand man 'Print the manual pages'
            cand help 'Print this message or the help of the given subcommand(s)'
        }
        &'mipam;help;reconcile'= {
        }
        &'mipam;help;allocate'= {
        }
        &'mipam;help;release'= {
        }
        &'mipam;help;status'= {
        }
        &'mipam;help;render-nmstate'= {
        }
        &'mipam;help;check-capacity'= {
        }
        &'mipam;help;completions'= {
        }
        &'mipam;help;man'= {
        }
        &'mipam;help;help'= {
        }
    ]
    $completions[$command]
}
