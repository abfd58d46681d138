package nodelog

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"

	"nodal/node"
)

// Services answers queries for the logs of services, as upstream's kubelet does.
type Services struct {
	Journal Journal
	Files   Tree
}

// Copy writes the logs of services: of those that the journal has from there, and of the others from files that are
// named after them. As upstream's, the answer has begun when something fails, so faults are lines of it. The error is
// that of the writer, or of the context.
func (s Services) Copy(ctx context.Context, q node.ServiceLogQuery, w io.Writer) error {
	journaled, others := s.split(ctx, q.Services)
	out := &watched{w: w}
	if len(journaled) > 0 {
		part := selection{units: journaled, since: q.Since, until: q.Until, tail: q.Tail, boot: q.Boot, grep: q.Pattern}
		if err := s.Journal.copy(ctx, part, out); err != nil && out.err == nil && ctx.Err() == nil {
			fmt.Fprintf(out, "\nerror: %v\n", err)
		}
	}
	if len(others) > 0 && q.Narrowed() && out.err == nil {
		fmt.Fprintf(out, "\noptions present and query resolved to log files for %v\ntry without specifying options\n", others)
		return out.err
	}
	for _, service := range others {
		if out.err != nil || ctx.Err() != nil {
			break
		}
		s.copyFile(ctx, service, out)
	}
	return errors.Join(out.err, context.Cause(ctx))
}

// split tells services of which the journal has lines from the others. Without a journal all are others.
func (s Services) split(ctx context.Context, services []string) (journaled, others []string) {
	units, err := s.Journal.units(ctx)
	for _, service := range services {
		known := slices.Contains(units, service) || slices.Contains(units, service+".service")
		if err == nil && known {
			journaled = append(journaled, service)
		} else {
			others = append(others, service)
		}
	}
	return journaled, others
}

// copyFile writes the first of the files in which a service may log.
func (s Services) copyFile(ctx context.Context, service string, w io.Writer) {
	for _, name := range []string{service, service + ".log", service + "/" + service + ".log"} {
		f, err := s.regular(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			defer f.Close()
			_, err = io.Copy(w, reader{ctx, f})
		}
		if err != nil {
			fmt.Fprintf(w, "\nerror getting log for %s: %v\n", service, err)
		}
		return
	}
	fmt.Fprintf(w, "\nlog not found for %s\n", service)
}

// regular opens a file. For a directory it reports that there is none: the service may log to a file in there.
func (s Services) regular(name string) (fs.File, error) {
	f, err := s.Files.Open(name)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && info.IsDir() {
		err = fs.ErrNotExist
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// reader reads until its context ends.
type reader struct {
	ctx context.Context
	io.Reader
}

func (r reader) Read(p []byte) (int, error) {
	if r.ctx.Err() != nil {
		return 0, context.Cause(r.ctx)
	}
	return r.Reader.Read(p)
}
