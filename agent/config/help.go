package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

const width = 100

const commands = `       kubelet VERB         ask a node: get, describe, logs, exec, apply and more; kubelet help lists the verbs
       kubelet install      install as a systemd service and start it
       kubelet uninstall    remove the service; pods keep running, unless --purge is given
       kubelet check        report what this machine lacks for running pods
       kubelet audit        print or follow the audit log; see kubelet audit --help
       kubelet key          show or rotate the key that seals Secrets; see kubelet key --help
       kubelet kubeconfig   print a kubeconfig with which kubectl reaches this node
       kubelet images       list, pull, import and remove images; see kubelet images --help
       kubelet ui           print a sign-in link for the dashboard
       kubelet clean        remove the data of a stopped node, except the data of claims
`

// Usage returns the text of --help.
func Usage() string {
	var o Options
	all := pflag.NewFlagSet("kubelet", pflag.ContinueOnError)
	Flags(all, &o)

	var b strings.Builder
	b.WriteString("kubelet runs pods on this machine and serves the node API.\n\nUsage: kubelet [flags]\n" + commands)
	for _, s := range sections {
		fs := pflag.NewFlagSet("", pflag.ContinueOnError)
		fs.SortFlags = false
		for _, setting := range s.settings {
			if setting.flag != "" {
				fs.AddFlag(all.Lookup(setting.flag))
			}
		}
		fmt.Fprintf(&b, "\n%s:\n%s", s.title, fs.FlagUsagesWrapped(width))
	}

	b.WriteString("\nTaken from changed files by a running node, which does not take the others before its next start:\n")
	b.WriteString(wrap(liveSettings()))

	b.WriteString("\nAccepted without effect, with what the node does instead; kubelet check names those given:\n")
	b.WriteString(helpWithoutEffect())

	b.WriteString("\nFeature gates of Kubernetes that this node always follows:\n")
	b.WriteString(wrap(gatesThatAre(always)))
	b.WriteString("\nFeature gates that decide, as they do upstream:\n")
	b.WriteString(wrap(gatesThatAre(followed)))
	b.WriteString("\nFeature gates that it never follows, with what it does instead:\n")
	b.WriteString(helpAbsentGates())
	b.WriteString("\nFeature gates without a difference here: " + usualMeaning[inside] + ":\n")
	b.WriteString(wrap(gatesThatAre(inside)))

	b.WriteString("\nDefaults that differ from upstream's:\n")
	for _, d := range differences {
		fmt.Fprintf(&b, "  %s = %s\n      %s\n", d.field, d.ours, d.why)
	}
	return b.String()
}

// liveSettings lists the settings that a running node takes from changed files.
func liveSettings() (names []string) {
	for name, by := range takers() {
		if by != atStart {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// helpWithoutEffect lists the settings that are accepted and do nothing.
func helpWithoutEffect() string {
	var lines consequences
	for _, s := range idle {
		name := s.field
		if s.flag != "" {
			name = "--" + s.flag
		}
		lines.add(name, s.means)
	}
	for _, f := range ignoredFlags {
		lines.add("--"+f.name, f.means)
	}
	return lines.String()
}

// helpAbsentGates lists the gates that the node does not follow when they are switched on.
func helpAbsentGates() string {
	var lines consequences
	for _, g := range gates {
		if g.here == never || g.here == grouped {
			lines.add(g.name, g.means)
		}
	}
	return lines.String()
}

func gatesThatAre(here gateHere) (names []string) {
	for _, g := range gates {
		if g.here == here {
			names = append(names, g.name)
		}
	}
	return names
}

// consequences are sentences with the names that each holds for, in the order of their first names.
type consequences struct {
	order []string
	names map[string][]string
}

func (c *consequences) add(name, means string) {
	if c.names == nil {
		c.names = map[string][]string{}
	}
	if c.names[means] == nil {
		c.order = append(c.order, means)
	}
	c.names[means] = append(c.names[means], name)
}

func (c *consequences) String() string {
	var b strings.Builder
	for _, means := range c.order {
		b.WriteString(wrap(c.names[means]) + "      " + means + "\n")
	}
	return b.String()
}

// wrap breaks words into lines of at most width characters.
func wrap(words []string) string {
	var b strings.Builder
	line := " "
	for _, word := range words {
		if len(line)+1+len(word) > width {
			b.WriteString(line + "\n")
			line = " "
		}
		line += " " + word
	}
	b.WriteString(line + "\n")
	return b.String()
}
