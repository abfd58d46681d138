package client

import (
	"cmp"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/spf13/pflag"

	"nodal/node/spelling"
)

// synopsis shows a verb with its words.
func (v Verb) synopsis() string {
	return strings.Join(strings.Fields("kubelet "+v.Name+" "+v.Words+" [flags]"), " ")
}

// usage prints all of a verb: its words, an example, its flags.
func (v Verb) usage(out io.Writer) {
	flags := v.flags()
	v.Bind(flags)
	fmt.Fprintf(out, "%s\n\nUsage:\n  %s\n", sentence(v.Short), v.synopsis())
	if v.Long != "" {
		fmt.Fprintf(out, "\n%s\n", strings.TrimSpace(v.Long))
	}
	fmt.Fprintf(out, "\nExample:\n%s\n", indented(v.Example))
	if flags.HasFlags() {
		fmt.Fprintf(out, "\nFlags:\n%s", flags.FlagUsagesWrapped(usageWidth))
	}
	if !v.Alone {
		of := v.flags()
		new(reach).bind(of)
		fmt.Fprintf(out, "\nWhich node (this machine's, unless a context is in use):\n%s", of.FlagUsagesWrapped(usageWidth))
	}
}

// usageWidth is the width of texts that explain.
const usageWidth = 110

func sentence(text string) string { return strings.ToUpper(text[:1]) + text[1:] + "." }

func indented(text string) string {
	return "  " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n  ")
}

// help prints the verbs, or all of the one that it is asked for.
func help(verbs []Verb, words []string, c Console) int {
	if len(words) > 0 {
		v, ok := verbNamed(verbs, words[0])
		if !ok {
			return unknownVerb(verbs, words[0], c)
		}
		if v.Raw != nil {
			return v.runRaw([]string{"--help"}, c)
		}
		v.usage(c.Out)
		return 0
	}
	fmt.Fprint(c.Out, "kubelet runs the pods of this machine. Without a verb it starts the node.\n\nVerbs:\n")
	for _, v := range verbs {
		if !v.Hidden {
			fmt.Fprintf(c.Out, "  %-14s %s\n", v.Name, v.Short)
		}
	}
	fmt.Fprint(c.Out, "\nkubelet VERB --help shows the flags of a verb and an example; kubelet --help those of the node.\n")
	return 0
}

// unknownVerb names the verb that a wrong word may mean.
func unknownVerb(verbs []Verb, word string, c Console) int {
	var names []string
	for _, v := range verbs {
		if !v.Hidden {
			names = append(names, v.Name)
		}
	}
	remedy := "kubelet help lists the verbs"
	if near := nearest(word, names); near != "" {
		remedy = "did you mean " + near + "?"
	}
	fmt.Fprintf(c.Err, "kubelet: unknown verb %q; %s\n", word, remedy)
	return 2
}

// unknownFlag finds the flag in the error of a parser that does not know it.
var unknownFlag = regexp.MustCompile(`^unknown flag: --(\S+)$`)

// Nearest adds to the fault of a parser which flag an unknown one may mean.
func Nearest(flags *pflag.FlagSet, err error) error {
	found := unknownFlag.FindStringSubmatch(err.Error())
	if found == nil {
		return err
	}
	var names []string
	flags.VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	near := nearest(found[1], names)
	if near == "" {
		return err
	}
	return fmt.Errorf("%w; did you mean --%s?", err, near)
}

// nearest returns the name that the word is a slip of, or nothing.
func nearest(word string, names []string) (best string) {
	least := max(1, min(2, len(word)/3)) + 1
	for _, name := range names {
		if d := spelling.Distance(word, name); d < least {
			best, least = name, d
		}
	}
	if best != "" || len(word) < 3 {
		return best
	}
	for _, name := range names {
		if strings.HasPrefix(name, word) {
			return name
		}
	}
	return ""
}

// orNone is for what may be empty.
func orNone(text string) string { return cmp.Or(text, "<none>") }
