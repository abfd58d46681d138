package config

import (
	"fmt"
	"strings"

	"github.com/spf13/pflag"
)

const width = 100

const commands = `       kubelet install      install as a systemd service and start it
       kubelet uninstall    remove the service; pods keep running, unless --purge is given
       kubelet check        report what this machine lacks for running pods
       kubelet audit        print or follow the audit log; see kubelet audit --help
       kubelet key          show or rotate the key that seals Secrets; see kubelet key --help
       kubelet images       list, import and remove images; see kubelet images --help
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

	b.WriteString("\nAccepted without effect; those given are named in the log at start-up:\n")
	var words []string
	for _, s := range idle {
		if s.flag != "" {
			words = append(words, "--"+s.flag)
		}
	}
	for _, f := range ignoredFlags {
		words = append(words, "--"+f.name)
	}
	b.WriteString(wrap(words))

	b.WriteString("\nRefused:\n")
	for _, r := range refusedFlags {
		fmt.Fprintf(&b, "  --%-22s %s\n", r.name, r.why)
	}
	b.WriteString("\nDefaults that differ from upstream's:\n")
	for _, d := range differences {
		fmt.Fprintf(&b, "  %s = %s\n      %s\n", d.field, d.ours, d.why)
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
