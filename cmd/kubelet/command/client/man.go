package client

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"nodal/host/replace"
)

// Man returns the verb that writes the manual pages of these verbs.
func Man(verbs func() []Verb) Verb {
	return Verb{
		Name: "man", Words: "DIR", Short: "write the manual pages of all verbs into a directory", Alone: true,
		Long: "kubelet install writes them to /usr/local/share/man/man1, where man finds them.",
		Example: `kubelet man ~/.local/share/man/man1
man kubelet-get`,
		Bind: func(*pflag.FlagSet) action {
			return func(_ context.Context, s *session, words []string) error {
				if len(words) != 1 {
					return misuse("want one directory, got %d", len(words))
				}
				pages := ManPages(verbs())
				if err := writePages(words[0], pages); err != nil {
					return err
				}
				_, err := fmt.Fprintf(s.Out, "%d pages in %s\n", len(pages), words[0])
				return err
			}
		},
	}
}

func writePages(dir string, pages map[string]string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make the directory of the pages: %w", err)
	}
	for _, name := range slices.Sorted(maps.Keys(pages)) {
		if err := replace.From(filepath.Join(dir, name), strings.NewReader(pages[name]), 0o644); err != nil {
			return fmt.Errorf("write the page %s: %w", name, err)
		}
	}
	return nil
}

// ManMark is the first line of each manual page. Files without it belong to others.
const ManMark = `.\" Written by kubelet man, of Nodal.` + "\n"

// ManPages returns the manual pages by the names of their files: one of the program and one of each verb. They are made of
// what --help shows.
func ManPages(verbs []Verb) map[string]string {
	pages := map[string]string{"kubelet.1": programPage(verbs), "nodal.1": ManMark + ".so man1/kubelet.1\n"}
	for _, v := range verbs {
		if !v.Hidden {
			pages["kubelet-"+v.Name+".1"] = v.manPage()
		}
	}
	return pages
}

// programPage lists the verbs.
func programPage(verbs []Verb) string {
	page := newRoff("KUBELET", `kubelet, nodal \- run the pods of this machine, and ask a node`)
	page.section("SYNOPSIS")
	page.lines(".B kubelet", `[\fIflags of the node\fR]`, ".br", ".B kubelet", `\fIverb\fR [\fIwords\fR] [\fIflags\fR]`)
	page.section("DESCRIPTION")
	page.paragraph("Without a verb the program is the node: it runs pods, and kubelet --help shows its flags. With one it is a client of a node's API. nodal is a second name for it, which shows this list if no word follows.")
	page.section("VERBS")
	for _, v := range verbs {
		if !v.Hidden {
			page.lines(".TP", `\fB`+escaped(v.Name)+`\fR `+escaped(v.Words))
			page.text(v.Short)
		}
	}
	page.exitStatus()
	page.section("SEE ALSO")
	page.text("kubelet-VERB(1) of each verb, such as kubelet-get(1). A node shows its documents at /docs.")
	return page.String()
}

// manPage is the manual page of a verb.
func (v Verb) manPage() string {
	page := newRoff("KUBELET-"+strings.ToUpper(v.Name), "kubelet-"+escaped(v.Name)+` \- `+escaped(v.Short))
	page.section("SYNOPSIS")
	page.lines(".B kubelet " + escaped(v.Name))
	page.text(strings.TrimPrefix(v.synopsis(), "kubelet "+v.Name))
	if v.Raw != nil {
		var help bytes.Buffer
		v.Raw([]string{"--help"}, Console{Out: &help, Err: &help})
		page.section("DESCRIPTION")
		page.verbatim(help.String())
	} else {
		page.section("DESCRIPTION")
		page.paragraph(sentence(v.Short))
		for _, paragraph := range strings.Split(strings.TrimSpace(v.Long), "\n\n") {
			page.paragraph(paragraph)
		}
		own := v.flags()
		v.Bind(own)
		page.flags("OPTIONS", own)
		if !v.Alone {
			of := v.flags()
			new(reach).bind(of)
			page.flags("WHICH NODE", of)
		}
	}
	if v.Example != "" {
		page.section("EXAMPLES")
		page.verbatim(v.Example)
	}
	page.exitStatus()
	page.section("SEE ALSO")
	page.lines(".BR kubelet (1)")
	return page.String()
}
