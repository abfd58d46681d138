package client

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"nodal/agent/config"
)

// tokenEnv names the variable of the environment that may hold a token.
const tokenEnv = "NODAL_TOKEN"

// option is a flag that may be absent.
type option struct {
	value string
	given bool
}

// reach holds the flags that say which node a verb is for.
type reach struct {
	socket, node                  option
	token, tokenFile, ca, context string
}

func (r *reach) bind(flags *pflag.FlagSet) {
	flags.StringVar(&r.socket.value, "socket", config.DefaultSocket, "unix socket `path` of the node on this machine")
	flags.StringVar(&r.node.value, "node", "", "`URL` of a node, such as https://host:10250")
	flags.StringVar(&r.token, "token", "", "the `token` for --node (others see it in the list of processes; better --token-file or "+tokenEnv+")")
	flags.StringVar(&r.tokenFile, "token-file", "", "`file` that holds the token")
	flags.StringVar(&r.ca, "ca", "", "`file` of the authority that has signed the node's certificate: pki/ca.crt in its directory")
	flags.StringVar(&r.context, "context", "", "`name` of a node that kubelet context add has kept")
}

// target is a node and how to reach it: the path of a socket, or a URL.
type target struct {
	socket string
	url    string
	token  string
	ca     []byte // of its authority; the machine's authorities if empty
}

// name names the node in messages.
func (t target) name() string { return cmp.Or(t.url, t.socket) }

// surroundings hold all that choose reads besides the flags.
type surroundings struct {
	getenv   func(string) string
	readFile func(string) ([]byte, error)
	contexts func() (contexts, error)
}

// choose returns the node that the flags mean. Without any it is that of the context in use, or else this machine's.
func (r reach) choose(from surroundings) (target, error) {
	ways := 0
	for _, given := range []bool{r.socket.given, r.node.given, r.context != ""} {
		if given {
			ways++
		}
	}
	if ways > 1 {
		return target{}, misuse("--socket, --node and --context each name a node: give one of them")
	}
	if r.socket.given {
		return target{socket: r.socket.value}, r.noCredentials()
	}
	if r.node.given {
		return r.complete(target{url: r.node.value}, from)
	}
	kept, err := from.contexts()
	if err != nil {
		return target{}, err
	}
	name := cmp.Or(r.context, kept.Current)
	if name == "" {
		return target{socket: r.socket.value}, r.noCredentials()
	}
	found, err := kept.named(name)
	if err != nil {
		return target{}, err
	}
	return r.complete(target{url: found.Node, token: found.Token, ca: []byte(found.CA)}, from)
}

// noCredentials refuses flags that a socket has no use for.
func (r reach) noCredentials() error {
	if r.token != "" || r.tokenFile != "" || r.ca != "" {
		return misuse("--token, --token-file and --ca are for a node that --node or --context names; a socket knows who asks")
	}
	return nil
}

// complete adds the token and the authority of the flags and of the environment.
func (r reach) complete(t target, from surroundings) (target, error) {
	if _, err := hostOf(t.url); err != nil {
		return target{}, err
	}
	switch {
	case r.token != "" && r.tokenFile != "":
		return target{}, misuse("--token and --token-file each give a token: give one of them")
	case r.token != "":
		t.token = r.token
	case r.tokenFile != "":
		text, err := from.readFile(r.tokenFile)
		if err != nil {
			return target{}, fmt.Errorf("read the token: %w", err)
		}
		t.token = strings.TrimSpace(string(text))
	case t.token == "":
		t.token = from.getenv(tokenEnv)
	}
	if r.ca != "" {
		text, err := from.readFile(r.ca)
		if err != nil {
			return target{}, fmt.Errorf("read the node's authority: %w", err)
		}
		t.ca = text
	}
	if t.token == "" {
		return target{}, misuse("node %s: no token; give one with --token-file or %s (kubelet token create makes one on the node)", t.url, tokenEnv)
	}
	return t, nil
}

// hostOf returns the host and port of a node's URL.
func hostOf(address string) (string, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" || u.Hostname() == "" || strings.Trim(u.Path, "/") != "" {
		return "", misuse("node %q: want a URL such as https://host:10250", address)
	}
	if u.Port() == "" {
		return u.Hostname() + ":10250", nil
	}
	return u.Host, nil
}

// trust returns how to check the node's certificate.
func (t target) trust() (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if len(t.ca) == 0 {
		return c, nil
	}
	c.RootCAs = x509.NewCertPool()
	if !c.RootCAs.AppendCertsFromPEM(t.ca) {
		return nil, errors.New("the node's authority holds no certificate in PEM; give pki/ca.crt of the node's directory with --ca")
	}
	return c, nil
}

// ownSurroundings are those of this process.
func ownSurroundings() surroundings {
	return surroundings{getenv: os.Getenv, readFile: os.ReadFile, contexts: func() (contexts, error) { return readContexts(contextsFile()) }}
}
