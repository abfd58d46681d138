package client

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api/v1"
	"sigs.k8s.io/yaml"
)

// contextVerb keeps names of nodes.
func contextVerb() Verb {
	return Verb{
		Name: "context", Words: "add NAME|list|use NAME|remove NAME", Short: "keep names of nodes and how to reach them", Alone: true,
		Long: `add checks nothing: kubelet get nodes --context NAME shows that it works. The file holds tokens and is for you
alone. use - goes back to the node of this machine.`,
		Example: `kubelet context add edge1 --node https://edge1:10250 --token-file edge1.token --ca edge1-ca.crt
kubelet context add edge2 --kubeconfig edge2.yaml
kubelet context use edge1`,
		Bind: func(flags *pflag.FlagSet) action {
			var add contextAdd
			flags.StringVar(&add.node, "node", "", "add: `URL` of the node, such as https://host:10250")
			flags.StringVar(&add.tokenFile, "token-file", "", "add: `file` that holds the token (or "+tokenEnv+")")
			flags.StringVar(&add.ca, "ca", "", "add: `file` of the node's authority: pki/ca.crt in its directory")
			flags.StringVar(&add.kubeconfig, "kubeconfig", "", "add: take all three from a `file` of kubelet kubeconfig")
			return func(_ context.Context, s *session, words []string) error {
				return runContext(s, words, add, contextsFile())
			}
		},
	}
}

// contextAdd holds the flags of context add.
type contextAdd struct{ node, tokenFile, ca, kubeconfig string }

func runContext(s *session, words []string, add contextAdd, path string) error {
	all, err := readContexts(path)
	if err != nil {
		return err
	}
	switch {
	case len(words) == 0:
		return misuse("command missing: want add, list, use or remove")
	case words[0] == "list" && len(words) == 1:
		return all.list(s)
	case len(words) != 2 || !slices.Contains([]string{"add", "use", "remove"}, words[0]):
		return misuse("unexpected %q: want add NAME, list, use NAME or remove NAME", strings.Join(words, " "))
	}
	name := words[1]
	switch words[0] {
	case "add":
		made, err := add.make(name)
		if err != nil {
			return err
		}
		all.put(made)
	case "use":
		if name == "-" {
			name = ""
		} else if _, err := all.named(name); err != nil {
			return err
		}
		all.Current = name
	default:
		if _, err := all.named(name); err != nil {
			return err
		}
		all.remove(name)
	}
	return all.write(path)
}

// put adds a context or takes the place of the one with its name.
func (all *contexts) put(made nodeContext) {
	if i := all.index(made.Name); i >= 0 {
		all.Contexts[i] = made
		return
	}
	all.Contexts = append(all.Contexts, made)
}

func (all *contexts) remove(name string) {
	i := all.index(name)
	all.Contexts = slices.Delete(all.Contexts, i, i+1)
	if all.Current == name {
		all.Current = ""
	}
}

func (all contexts) list(s *session) error {
	t := table{out: s.Out, head: []string{"IN USE", "NAME", "NODE"}}
	var rows [][]string
	for _, c := range all.Contexts {
		rows = append(rows, []string{map[bool]string{true: "*"}[c.Name == all.Current], c.Name, c.Node})
	}
	return t.print(rows...)
}

// make reads the files of a new context.
func (a contextAdd) make(name string) (made nodeContext, err error) {
	if name == "" || name == "-" || strings.ContainsFunc(name, func(r rune) bool { return steers(r) || r <= ' ' }) {
		return made, misuse("context %q: want a name without blanks", name)
	}
	if a.kubeconfig != "" {
		if a.node != "" || a.tokenFile != "" || a.ca != "" {
			return made, misuse("--kubeconfig gives the node, its token and its authority: give no other flag")
		}
		return contextOf(name, a.kubeconfig)
	}
	r := reach{tokenFile: a.tokenFile, ca: a.ca}
	t, err := r.complete(target{url: a.node}, ownSurroundings())
	if err != nil {
		return made, err
	}
	if _, err := t.trust(); err != nil {
		return made, err
	}
	return nodeContext{Name: name, Node: t.url, Token: t.token, CA: string(t.ca)}, nil
}

// contextOf reads the context in use of a kubeconfig with a token.
func contextOf(name, path string) (made nodeContext, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return made, err
	}
	var c clientcmdapi.Config
	if err := yaml.Unmarshal(text, &c); err != nil {
		return made, fmt.Errorf("kubeconfig %s: %w", path, err)
	}
	made.Name = name
	for _, used := range c.Contexts {
		if used.Name != c.CurrentContext {
			continue
		}
		for _, cluster := range c.Clusters {
			if cluster.Name == used.Context.Cluster {
				made.Node, made.CA = cluster.Cluster.Server, string(cluster.Cluster.CertificateAuthorityData)
			}
		}
		for _, user := range c.AuthInfos {
			if user.Name == used.Context.AuthInfo {
				made.Token = user.AuthInfo.Token
			}
		}
	}
	if made.Token == "" {
		return made, errors.New("kubeconfig " + path + ": its current context has no token; kubelet kubeconfig prints one that has")
	}
	_, err = hostOf(made.Node)
	return made, err
}
