package client

import (
	"context"
	_ "embed"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
)

// The scripts ask the binary what fits, so they need no change when a verb comes.
var (
	//go:embed completion.bash
	bashScript string
	//go:embed completion.zsh
	zshScript string
	//go:embed completion.fish
	fishScript string
)

func completionVerb() Verb {
	return Verb{
		Name: "completion", Words: "bash|zsh|fish", Short: "print a script with which a shell completes verbs, flags and names", Alone: true,
		Example: `kubelet completion bash > /etc/bash_completion.d/kubelet
source <(kubelet completion zsh)
kubelet completion fish > ~/.config/fish/completions/kubelet.fish`,
		Bind: func(*pflag.FlagSet) action {
			return func(_ context.Context, s *session, words []string) error {
				scripts := map[string]string{"bash": bashScript, "zsh": zshScript, "fish": fishScript}
				if len(words) != 1 || scripts[words[0]] == "" {
					return misuse("want one of bash, zsh and fish")
				}
				_, err := fmt.Fprint(s.Out, scripts[words[0]])
				return err
			}
		},
	}
}

// CompleteVerb is the verb by which the scripts ask what fits.
const CompleteVerb = "__complete"

// Complete returns the verb that prints what fits the last of its words, a line each. It completes these verbs.
func Complete(verbs func() []Verb) Verb {
	return Verb{Name: CompleteVerb, Hidden: true, Raw: func(args []string, c Console) int {
		for _, fits := range candidates(verbs(), args, namesOfNode) {
			fmt.Fprintln(c.Out, fits)
		}
		return 0
	}}
}

// names lists the names of a kind on the node that the flags of a verb mean.
type names func(k kind, s *session, namespace string) []string

// candidates returns what fits the last word of a command line.
func candidates(verbs []Verb, words []string, ask names) []string {
	if len(words) == 0 {
		return nil
	}
	last := words[len(words)-1]
	if len(words) == 1 {
		all := []string{"help"}
		for _, v := range verbs {
			if !v.Hidden {
				all = append(all, v.Name)
			}
		}
		return fitting(all, last)
	}
	v, ok := verbNamed(verbs, words[0])
	switch {
	case words[0] == "help":
		return candidates(verbs, []string{last}, ask)
	case !ok || slices.Contains(words[:len(words)-1], "--"):
		return nil
	case v.Raw != nil:
		return fitting(commandsOf(v), last)
	}
	return v.candidates(words[1:len(words)-1], last, ask)
}

func fitting(all []string, last string) (fits []string) {
	for _, word := range all {
		if strings.HasPrefix(word, last) {
			fits = append(fits, word)
		}
	}
	return fits
}

// commandsOf reads the commands of a verb, such as list, from its words.
func commandsOf(v Verb) (all []string) {
	for _, word := range strings.Split(v.Words, "|") {
		word, _, _ = strings.Cut(word, " ")
		if word == strings.ToLower(word) && word != "" {
			all = append(all, word)
		}
	}
	return all
}

// candidates returns what fits the last word after the words before it.
func (v Verb) candidates(before []string, last string, ask names) []string {
	s, flags := &session{}, v.flags()
	v.Bind(flags)
	if !v.Alone {
		s.reach.bind(flags)
	}
	if strings.HasPrefix(last, "-") {
		var all []string
		flags.VisitAll(func(f *pflag.Flag) { all = append(all, "--"+f.Name) })
		return fitting(all, last)
	}
	if len(before) > 0 {
		if f := flagNamed(flags, before[len(before)-1]); f != nil && f.NoOptDefVal == "" {
			return fitting(valuesOf(f.Name), last)
		}
	}
	if flags.Parse(before) != nil {
		return nil
	}
	s.reach.node.given, s.reach.socket.given = flags.Changed("node"), flags.Changed("socket")
	namespace := ""
	if f := flags.Lookup("namespace"); f != nil {
		namespace = f.Value.String()
	}
	if all := commandsOf(v); len(all) > 0 && flags.NArg() == 0 {
		return fitting(all, last)
	}
	return v.namesFitting(flags.Args(), last, func(k kind) []string { return ask(k, s, namespace) })
}

// namesFitting returns the kinds and the names on the node that fit.
func (v Verb) namesFitting(words []string, last string, of func(kind) []string) []string {
	pods := podKind()
	if v.Name == "get" || v.Name == "delete" || v.Name == "describe" {
		if len(words) > 0 {
			k, ok := kindNamed(words[0])
			if !ok {
				k = pods
			}
			return fitting(of(k), last)
		}
		var all []string
		for _, k := range kinds() {
			all = append(all, k.name)
		}
		return fitting(append(all, of(pods)...), last)
	}
	if v.Name == "images" && len(words) > 0 && words[0] == "rm" {
		return fitting(of(imageKind()), last)
	}
	if !strings.Contains(v.Words, "POD") && !strings.Contains(v.Words, "NAME") || v.Alone {
		return nil
	}
	return fitting(of(pods), last)
}

// flagNamed returns the flag that a word is.
func flagNamed(flags *pflag.FlagSet, word string) *pflag.Flag {
	if name, ok := strings.CutPrefix(word, "--"); ok {
		return flags.Lookup(name)
	}
	if name, ok := strings.CutPrefix(word, "-"); ok && len(name) == 1 {
		return flags.ShorthandLookup(name)
	}
	return nil
}

// valuesOf lists the values of a flag that has few.
func valuesOf(flag string) []string {
	switch flag {
	case "output":
		return []string{"wide", "json", "yaml", "name", "jsonpath="}
	case "for":
		return []string{"ready", "deleted", "succeeded"}
	case "sort-by":
		return []string{"cpu", "memory", "name"}
	case "context":
		kept, _ := readContexts(contextsFile())
		var all []string
		for _, c := range kept.Contexts {
			all = append(all, c.Name)
		}
		return all
	}
	return nil
}

// completionWait bounds how long the user waits for names.
const completionWait = 2 * time.Second

// plainName matches names that a shell takes as they are.
var plainName = regexp.MustCompile(`^[a-zA-Z0-9._:-]+$`)

// namesOfNode asks the node. Without an answer nothing fits.
func namesOfNode(k kind, s *session, namespace string) (all []string) {
	ctx, cancel := context.WithTimeout(context.Background(), completionWait)
	defer cancel()
	defer s.close()
	ask := question{namespace: namespace}
	if !k.namespaced {
		ask.namespace = ""
	}
	items, err := k.list(ctx, s, ask)
	if err != nil {
		return nil
	}
	for _, i := range items {
		if plainName.MatchString(i.name) && !slices.Contains(all, i.name) {
			all = append(all, i.name)
		}
	}
	return all
}
