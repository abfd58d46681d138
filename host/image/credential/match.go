package credential

import (
	"net"
	"path"
	"strings"
)

// dockerHub is the name in a configuration of the registry for image names without a host.
const dockerHub = "index.docker.io"

// pattern describes the images that a credential is for.
type pattern struct{ host, port, path string }

func (p pattern) String() string {
	if p.port == "" {
		return p.host + p.path
	}
	return p.host + ":" + p.port + p.path
}

// parsePattern reads a key of a configuration. Clients have always written URLs
// there, with the version of the registry's API behind them.
func parsePattern(text string) pattern {
	_, rest, found := strings.Cut(text, "://")
	if !found {
		rest = text
	}
	p := split(rest)
	for _, version := range []string{"/v1", "/v2"} {
		if after, ok := strings.CutPrefix(p.path, version); ok && (after == "" || after[0] == '/') {
			p.path = after
		}
	}
	p.path = strings.TrimRight(p.path, "/")
	return p
}

// split divides a text into host, port and path.
func split(text string) pattern {
	host, rest, found := strings.Cut(text, "/")
	p := pattern{host: host}
	if found {
		p.path = "/" + rest
	}
	if name, port, err := net.SplitHostPort(host); err == nil {
		p.host, p.port = name, port
	}
	switch p.host {
	case "docker.io", "registry-1.docker.io":
		p.host = dockerHub
	}
	return p
}

// nameOf returns an image's full name, with the registry and without tag and digest.
func nameOf(ref string) pattern {
	ref, _, _ = strings.Cut(ref, "@")
	if i := strings.LastIndex(ref, ":"); i > strings.LastIndex(ref, "/") {
		ref = ref[:i]
	}
	domain, _, found := strings.Cut(ref, "/")
	switch {
	case !found:
		return pattern{host: dockerHub, path: "/library/" + ref}
	case domain != "localhost" && !strings.ContainsAny(domain, ".:"):
		return pattern{host: dockerHub, path: "/" + ref}
	}
	return split(ref)
}

// matches reports whether a pattern is for the image of a name. A star stands for at most one part of the host, so
// that it cannot match another domain.
func (p pattern) matches(name pattern) bool {
	want, got := strings.Split(p.host, "."), strings.Split(name.host, ".")
	if len(want) != len(got) || p.port != name.port || !strings.HasPrefix(name.path, p.path) {
		return false
	}
	for i := range want {
		if ok, err := path.Match(want[i], got[i]); !ok || err != nil {
			return false
		}
	}
	return true
}
