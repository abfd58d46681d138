package source

import (
	"errors"
	"fmt"
	"os"
	"time"

	"nodal/node"
	"nodal/node/intake"
)

// Checked says what is wrong with one file. Err is nil if all of it would be taken.
type Checked struct {
	Path string
	Err  error
}

// Check reads a file or a directory of manifests as File does, and returns what it found of each file in the order of their
// names. It compares them with the rules and with each other, but not with what is on the node, so in needs no store.
func Check(path string, in intake.Intake) ([]Checked, error) {
	paths, err := list(path)
	if err != nil {
		return nil, cannotRead(err)
	}
	in.Source = node.SourceFile
	p := publisher{Sink: Sink{Intake: in}}
	first := map[string]string{} // the file that names an object first
	checked := make([]Checked, len(paths))
	for i, path := range paths {
		checked[i] = Checked{Path: path, Err: p.check(path, first)}
	}
	return checked, nil
}

func (p *publisher) check(path string, first map[string]string) error {
	info, err := os.Stat(path)
	if err == nil {
		err = check(info)
	}
	var data []byte
	if err == nil {
		data, err = slurp(path, info)
	}
	if err != nil {
		return cannotRead(err)
	}
	r := p.read(path, data, time.Now())
	problems := []error{r.err}
	for _, d := range r.deliveries {
		if other, taken := first[d.String()]; taken && other != path {
			problems = append(problems, fmt.Errorf("%s stands in %s already: %w", d, other, node.ErrConflict))
			continue
		}
		first[d.String()] = path
		problems = append(problems, p.Intake.Review(d))
	}
	return errors.Join(problems...)
}
