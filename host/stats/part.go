package stats

import (
	"context"
	"errors"
	"fmt"
	"time"
)

const patience = 5 * time.Second // with each part of a collection

// part reads some figures. Fill writes them into a collection and is its only writer
// meanwhile. Next to an error, fill writes the figures that were read, or is nil.
type part struct {
	name string
	read func(context.Context) (fill func(*collection), err error)
}

// parts holds, by name, the parts whose reading has outlasted an earlier collection.
type parts map[string]chan answer

type answer struct {
	fill func(*collection)
	err  error
}

// read reads all parts. Its error names those that it could not read, or not in full.
func (p parts) read(ctx context.Context, all []part, into *collection) error {
	errs := p.each(ctx, all, into)
	for i, err := range errs {
		if err != nil {
			errs[i] = fmt.Errorf("read stats of %s: %w", all[i].name, err)
		}
	}
	return errors.Join(errs...)
}

// each reads all parts side by side, and waits for none longer than patience. It returns an error or nil for each part.
func (p parts) each(ctx context.Context, all []part, into *collection) []error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	fresh := make([]bool, len(all))
	for i, one := range all {
		fresh[i] = p.ask(ctx, one)
	}
	errs := make([]error, len(all))
	for i, one := range all {
		fill, err := p.hear(ctx, one, fresh[i])
		if fill != nil {
			fill(into)
		}
		errs[i] = err
	}
	return errs
}

// ask begins to read a part, unless an earlier reading of it still hangs in the kernel.
func (p parts) ask(ctx context.Context, one part) (fresh bool) {
	if reply, ok := p[one.name]; ok {
		select {
		case <-reply: // too late for its collection, and too old for this one
		default:
			return false
		}
	}
	reply := make(chan answer, 1)
	p[one.name] = reply
	go func() {
		fill, err := one.read(ctx)
		reply <- answer{fill, err}
	}()
	return true
}

// hear waits for a part that is being read since just now, and not for one that hangs.
func (p parts) hear(ctx context.Context, one part, fresh bool) (func(*collection), error) {
	if !fresh {
		return nil, errHangs
	}
	select {
	case got := <-p[one.name]:
		delete(p, one.name)
		return got.fill, got.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

var errHangs = errors.New("an earlier reading still hangs")
