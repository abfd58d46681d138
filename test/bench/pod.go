package main

import (
	"fmt"
	"strings"
)

const namespace = "default"

// pod holds the differences between measured pods. Its container has its name, so that the
// runtime's list of containers shows the owner of each.
type pod struct {
	name    string
	image   string
	command []string // replaces the image's command
	args    []string
	inits   int  // number of init containers, which end at once
	once    bool // never restarted
	stored  bool // has ten volumes
}

func (p pod) manifest() string {
	policy := "Always"
	if p.once {
		policy = "Never"
	}
	var b strings.Builder
	fmt.Fprintf(&b, `apiVersion: v1
kind: Pod
metadata:
  name: %[1]s
  namespace: %[2]s
  labels: {bench: %[1]s}
spec:
  restartPolicy: %[3]s
  terminationGracePeriodSeconds: 2
  containers:
  - name: %[1]s
    image: %[4]s
    imagePullPolicy: IfNotPresent
    command: %[5]s
    args: %[6]s
`, p.name, namespace, policy, p.image, list(p.command), list(p.args))
	if p.stored {
		b.WriteString(storageMounts() + storage)
	}
	for i := range p.inits {
		if i == 0 {
			b.WriteString("  initContainers:\n")
		}
		fmt.Fprintf(&b, `  - name: %s
    image: %s
    imagePullPolicy: IfNotPresent
    args: ["exit", "0"]
`, initName(i), p.image)
	}
	return b.String()
}

func initName(i int) string { return fmt.Sprintf("init%d", i) }

// list returns strings as a YAML list, in JSON's form.
func list(items []string) string {
	quoted := make([]string, len(items))
	for i, item := range items {
		quoted[i] = fmt.Sprintf("%q", item)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

func manifests(pods []pod) string {
	texts := make([]string, len(pods))
	for i, p := range pods {
		texts[i] = p.manifest()
	}
	return strings.Join(texts, "---\n")
}

func names(pods []pod) map[string]bool {
	set := make(map[string]bool, len(pods))
	for _, p := range pods {
		set[p.name] = true
	}
	return set
}
