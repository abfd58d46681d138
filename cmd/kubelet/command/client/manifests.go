package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	nodev1 "nodal/api/gen/node/v1"
)

// manifestFiles holds the flag -f.
type manifestFiles struct{ names []string }

func (m *manifestFiles) bind(flags *pflag.FlagSet) {
	flags.StringSliceVarP(&m.names, "filename", "f", nil, "`file` of manifests, a directory of .yaml, .yml and .json files, or - for standard input")
}

// read returns all manifests as one bundle.
func (m *manifestFiles) read(s *session, words []string) (string, error) {
	if len(words) > 0 {
		return "", misuse("unexpected %q: manifests are named with -f", words[0])
	}
	if len(m.names) == 0 {
		return "", misuse("-f missing: want a file, a directory or -")
	}
	var texts []string
	for _, name := range m.names {
		files, err := filesOf(name)
		if err != nil {
			return "", err
		}
		for _, file := range files {
			text, err := m.one(s, file)
			if err != nil {
				return "", err
			}
			texts = append(texts, strings.TrimPrefix(text, "---\n"))
		}
	}
	return strings.Join(texts, "\n---\n"), nil
}

func (m *manifestFiles) one(s *session, file string) (string, error) {
	if file != "-" {
		text, err := os.ReadFile(file)
		return string(text), err
	}
	text, err := io.ReadAll(s.In)
	return string(text), err
}

// filesOf returns a file, or the manifests that lie in a directory.
func filesOf(name string) ([]string, error) {
	if name == "-" {
		return []string{name}, nil
	}
	info, err := os.Stat(name)
	if err != nil || !info.IsDir() {
		return []string{name}, err
	}
	entries, err := os.ReadDir(name) // sorted by name
	if err != nil {
		return nil, err
	}
	var files []string
	for _, e := range entries {
		if !e.IsDir() && slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(e.Name())) && !strings.HasPrefix(e.Name(), ".") {
			files = append(files, filepath.Join(name, e.Name()))
		}
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("directory %s holds no .yaml, .yml or .json file", name)
	}
	return files, nil
}

func applyVerb() Verb {
	return Verb{
		Name: "apply", Words: "-f FILE", Short: "make manifests the wanted state of their pods and objects",
		Long:    "All of the files are one bundle: either all of it is taken, or nothing. Applying it again changes nothing.",
		Example: "kubelet apply -f web.yaml\nkubelet apply -f manifests/\ncat web.yaml | kubelet apply -f -",
		Bind: func(flags *pflag.FlagSet) action {
			var files manifestFiles
			files.bind(flags)
			return func(ctx context.Context, s *session, words []string) error {
				text, err := files.read(s, words)
				if err != nil {
					return err
				}
				client, err := clientOf(s, nodev1.NewManifestsServiceClient)
				if err != nil {
					return err
				}
				reply, err := client.Apply(ctx, &nodev1.ApplyRequest{Manifest: text})
				if err != nil {
					return err
				}
				return s.outcomes(reply.GetOutcomes())
			}
		},
	}
}

// outcomes prints what became of a bundle.
func (s *session) outcomes(all []*nodev1.Outcome) error {
	var errs []error
	for _, o := range all {
		text := nameOf(o) + " " + resultOf(o.GetResult())
		if len(o.GetRestarts()) > 0 {
			text += ", restarts " + strings.Join(o.GetRestarts(), ", ")
		}
		_, err := fmt.Fprintln(s.Out, cell(text))
		errs = append(errs, err)
		for _, w := range o.GetWarnings() {
			s.note(fmt.Errorf("warning: %s: %s", nameOf(o), w))
		}
	}
	return errors.Join(errs...)
}

// nameOf names a pod or an object: kind/name, and its namespace unless that is default.
func nameOf(o *nodev1.Outcome) string {
	name := strings.ToLower(o.GetKind()) + "/" + o.GetName()
	if n := o.GetNamespace(); n != "" && n != "default" {
		name += " of namespace " + n
	}
	return name
}

func resultOf(r nodev1.Result) string {
	return strings.ToLower(strings.TrimPrefix(r.String(), "RESULT_"))
}

// wouldChange is the exit code of plan and diff with --exit-code if something would change.
const wouldChange = exitError(3)

// planning holds the flags of plan and diff.
type planning struct {
	manifestFiles
	code bool
}

func (p *planning) bind(flags *pflag.FlagSet) {
	p.manifestFiles.bind(flags)
	flags.BoolVar(&p.code, "exit-code", false, "end with code 3 if something would change")
}

// ask returns the bundle, and what applying it would do.
func (p *planning) ask(ctx context.Context, s *session, words []string) (text string, all []*nodev1.Outcome, err error) {
	if text, err = p.read(s, words); err != nil {
		return "", nil, err
	}
	client, err := clientOf(s, nodev1.NewManifestsServiceClient)
	if err != nil {
		return "", nil, err
	}
	reply, err := client.Plan(ctx, &nodev1.PlanRequest{Manifest: text})
	return text, reply.GetOutcomes(), err
}

// result returns the exit code.
func (p *planning) result(all []*nodev1.Outcome) error {
	if p.code && slices.ContainsFunc(all, func(o *nodev1.Outcome) bool { return o.GetResult() != nodev1.Result_RESULT_UNCHANGED }) {
		return wouldChange
	}
	return nil
}

func planVerb() Verb {
	return Verb{
		Name: "plan", Words: "-f FILE", Short: "show what apply would do, and which containers would restart",
		Example: "kubelet plan -f web.yaml",
		Bind: func(flags *pflag.FlagSet) action {
			var p planning
			p.bind(flags)
			return func(ctx context.Context, s *session, words []string) error {
				_, all, err := p.ask(ctx, s, words)
				if err != nil {
					return err
				}
				t := table{out: s.Out, head: []string{"RESULT", "KIND", "NAMESPACE", "NAME", "RESTARTS", "CHANGES"}}
				var rows [][]string
				for _, o := range all {
					rows = append(rows, []string{
						resultOf(o.GetResult()), o.GetKind(), o.GetNamespace(), o.GetName(), join(o.GetRestarts()), strings.Join(o.GetChanges(), ", "),
					})
				}
				if err := t.print(rows...); err != nil {
					return err
				}
				for _, o := range all {
					for _, w := range o.GetWarnings() {
						s.note(fmt.Errorf("warning: %s: %s", nameOf(o), w))
					}
				}
				return p.result(all)
			}
		},
	}
}
