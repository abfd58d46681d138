package command

import (
	"errors"
	"fmt"

	"github.com/spf13/pflag"

	"nodal/agent/config"
	"nodal/agent/ownruntime"
	"nodal/cmd/kubelet/command/client"
)

// Console holds the standard streams of a verb.
type Console = client.Console

// verbs returns all verbs in the order in which help lists them: those of the day, then those that look after the node.
func verbs() []client.Verb {
	return append(client.Verbs(), []client.Verb{
		{Name: "ui", Short: "print a sign-in link for the dashboard", Example: "kubelet ui", Raw: runUI},
		{Name: "kubeconfig", Short: "print a kubeconfig with which kubectl reaches the node", Example: "kubelet kubeconfig --role viewer > node.yaml", Raw: runKubeconfig},
		{Name: "token", Words: "create|list|revoke", Short: "make, list and revoke tokens of the API", Example: "kubelet token create --role operator --expires 30d alice", Raw: runToken},
		{Name: "certificate", Words: "list|revoke", Short: "list and revoke client certificates", Example: "kubelet certificate list", Raw: runCertificate},
		{Name: "audit", Short: "show who has done what on the node", Example: "kubelet audit --since 1h --verb write", Raw: runAudit},
		{Name: "key", Words: "show|rotate", Short: "show and rotate the key that seals Secrets", Example: "kubelet key show", Raw: runKey},
		{Name: "fleet", Words: "status [NODE...]", Short: "show the nodes of a fleet that is written in etcd", Example: "kubelet fleet status --etcd-servers https://10.0.0.1:2379", Raw: runFleet},
		client.Man(verbs),
		{Name: "licenses", Short: "print the licences of all that is in this program", Example: "kubelet licenses | less", Raw: runLicenses},
		{Name: "check", Short: "check what this machine lacks", Example: "kubelet check --config /etc/nodal/config.yaml", Raw: runCheck},
		{Name: "install", Short: "install the node as a service of systemd", Example: "kubelet install --dry-run", Raw: runInstall},
		{Name: "self-update", Words: "FILE", Short: "replace the installed program, with a way back", Example: "kubelet self-update ./kubelet-linux-amd64", Raw: runUpdate},
		{Name: "uninstall", Short: "remove that service", Example: "kubelet uninstall --dry-run", Raw: runUninstall},
		{Name: "clean", Short: "remove a node from this machine", Example: "kubelet clean --config /etc/nodal/config.yaml --dry-run", Raw: runClean},
		{Name: ownruntime.UnpackCommand, Raw: runUnpack, Hidden: true},
		client.Complete(verbs),
	}...)
}

// Run runs the verb that args begin with and returns its exit code. It reports false if args begin with no verb.
func Run(args []string, c Console) (code int, found bool) { return client.Run(verbs(), args, c) }

// misused prints the fault of a command line and the usage of its verb.
func misused(flags *pflag.FlagSet, c Console, err error) int {
	fmt.Fprintf(c.Err, "kubelet %s: %v\n\n", flags.Name(), client.Nearest(flags, err))
	flags.Usage()
	return 2
}

// noMore refuses words after the flags of a verb that takes none.
func noMore(words []string) error {
	if len(words) == 0 {
		return nil
	}
	return fmt.Errorf("unexpected argument %q", words[0])
}

// loadFor reads the agent's own flags for a verb about the agent's node. It returns nil and an exit code if
// there is nothing more to do.
func loadFor(verb, about string, args []string, c Console) (*config.Config, int) {
	cfg, err := config.Load(args)
	switch {
	case errors.Is(err, config.ErrHelp):
		fmt.Fprintf(c.Out, "Usage: kubelet %s [flags of the node's kubelet]\n\n%s", verb, about)
		return nil, 0
	case err != nil:
		fmt.Fprintf(c.Err, "kubelet %s: %v\n", verb, err)
		return nil, 2
	}
	return cfg, 0
}
