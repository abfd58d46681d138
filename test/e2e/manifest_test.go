package e2e

import (
	"fmt"
	"strings"
)

// pod is a manifest of a pod with containers that run the probe.
type pod struct {
	name       string
	restart    string // restartPolicy; Always if empty
	grace      int    // seconds; 1 if zero
	labels     map[string]string
	init, apps []program
}

// program is a container and its command.
type program struct {
	name  string
	image string // nodal.test/probe:1 if empty
	args  []string
}

// runs returns a pod of one container, main, that runs the probe with args.
func runs(name string, args ...string) pod {
	return pod{name: name, apps: []program{{name: "main", args: args}}}
}

// web returns a pod that answers HTTP requests on port 8080 with its name.
func web(name string) pod { return runs(name, "http", "8080") }

// shell returns a pod of one container, main, that runs a script in busybox.
func shell(name, script string) pod {
	return pod{name: name, apps: []program{busybox("main", script)}}
}

// busybox returns a container that runs a script.
func busybox(name, script string) program {
	return program{name: name, image: "nodal.test/busybox:1", args: []string{"sh", "-c", script}}
}

func (p pod) yaml() string {
	var b strings.Builder
	fmt.Fprintf(&b, "apiVersion: v1\nkind: Pod\nmetadata:\n  name: %s\n", p.name)
	if len(p.labels) > 0 {
		b.WriteString("  labels:\n")
		for key, value := range p.labels {
			fmt.Fprintf(&b, "    %s: %q\n", key, value)
		}
	}
	fmt.Fprintf(&b, "spec:\n  terminationGracePeriodSeconds: %d\n", max(p.grace, 1))
	if p.restart != "" {
		fmt.Fprintf(&b, "  restartPolicy: %s\n", p.restart)
	}
	for _, list := range []struct {
		field    string
		programs []program
	}{{"initContainers", p.init}, {"containers", p.apps}} {
		if len(list.programs) == 0 {
			continue
		}
		fmt.Fprintf(&b, "  %s:\n", list.field)
		for _, c := range list.programs {
			image := c.image
			if image == "" {
				image = "nodal.test/probe:1"
			}
			fmt.Fprintf(&b, "  - name: %s\n    image: %s\n    args:\n", c.name, image)
			for _, arg := range c.args {
				fmt.Fprintf(&b, "    - %q\n", arg)
			}
		}
	}
	return b.String()
}

// bundle joins manifests into one text of several documents.
func bundle(pods ...pod) string {
	documents := make([]string, len(pods))
	for i, p := range pods {
		documents[i] = p.yaml()
	}
	return strings.Join(documents, "---\n")
}
