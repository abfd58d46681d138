package command

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api/v1"
	"sigs.k8s.io/yaml"

	"nodal/agent/config"
)

const kubeconfigUsage = `Usage:
  kubelet kubeconfig [flags] > FILE   print a kubeconfig with which kubectl reaches this node

The kubeconfig holds the node's own token of the role. Keep it as you keep that. A token of its own, which can expire and be
revoked, comes from kubelet token create.

Flags:
`

// runKubeconfig prints a kubeconfig. It reads files of the root directory, so the agent need not run.
func runKubeconfig(args []string, c Console) int {
	flags := pflag.NewFlagSet("kubeconfig", pflag.ContinueOnError)
	flags.SetOutput(c.Err)
	flags.Usage = func() { fmt.Fprint(c.Err, kubeconfigUsage, flags.FlagUsages()) }
	root := flags.String("root-dir", config.DefaultRoot, "the node's `directory`")
	role := flags.String("role", "admin", "viewer, operator or admin")
	server := flags.String("server", "https://127.0.0.1:10250", "the node's TLS port as kubectl reaches it, as a `URL`")
	if err := flags.Parse(args); errors.Is(err, pflag.ErrHelp) {
		return 0
	} else if err != nil {
		return misused(flags, c, err)
	}
	if err := noMore(flags.Args()); err != nil {
		return misused(flags, c, err)
	}
	if !slices.Contains([]string{"viewer", "operator", "admin"}, *role) {
		return misused(flags, c, fmt.Errorf("--role %q: want viewer, operator or admin", *role))
	}
	text, err := kubeconfigOf(*root, *role, *server)
	if err != nil {
		fmt.Fprintln(c.Err, "kubelet kubeconfig:", err)
		return 1
	}
	fmt.Fprint(c.Out, text)
	return 0
}

func kubeconfigOf(root, role, server string) (string, error) {
	authority, err := os.ReadFile(filepath.Join(root, "pki", "ca.crt"))
	if err != nil {
		return "", fmt.Errorf("read the node's certificate authority: %w; name the node's directory with --root-dir, and start its kubelet once", err)
	}
	token, err := os.ReadFile(filepath.Join(root, "credentials", role+".token"))
	if err != nil {
		return "", fmt.Errorf("read the node's token of role %s: %w", role, err)
	}
	made := clientcmdapi.Config{
		APIVersion: "v1", Kind: "Config", CurrentContext: "node",
		Clusters:  []clientcmdapi.NamedCluster{{Name: "node", Cluster: clientcmdapi.Cluster{Server: server, CertificateAuthorityData: authority}}},
		AuthInfos: []clientcmdapi.NamedAuthInfo{{Name: role, AuthInfo: clientcmdapi.AuthInfo{Token: strings.TrimSpace(string(token))}}},
		Contexts:  []clientcmdapi.NamedContext{{Name: "node", Context: clientcmdapi.Context{Cluster: "node", AuthInfo: role}}},
	}
	text, err := yaml.Marshal(made)
	return string(text), err
}
