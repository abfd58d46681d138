package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"nodal/node/store"
)

// Quarantined is a file that could not be used, and what became of it.
type Quarantined struct {
	Name      string // the record, as far as its path shows; empty for a transaction
	File      string // where the bytes are now
	Reason    string
	Recovered bool // the record's previous generation took its place
}

// Load reads all records, in the order of their files. It is called once, at
// the start. A file that is damaged is moved to quarantine and reported; the
// error is for a directory that cannot be read at all.
func (j *Journal) Load() (records []store.Record, quarantined []Quarantined, err error) {
	j.life.Lock()
	defer j.life.Unlock()
	if j.closed {
		return nil, nil, fmt.Errorf("load journal %s: %w", j.dir, fs.ErrClosed)
	}
	quarantined, j.found = j.found, nil
	err = j.eachFile(func(file string) {
		if !strings.HasSuffix(file, recordSuffix) {
			return
		}
		r, err := j.read(file, file)
		if err != nil {
			var q Quarantined
			r, q = j.fallBack(file, err)
			if quarantined = append(quarantined, q); !q.Recovered {
				return
			}
		}
		records = append(records, r)
	})
	if err != nil {
		return nil, nil, fmt.Errorf("load journal %s: %w", j.dir, err)
	}
	return records, quarantined, nil
}

// read reads a generation of the record that is kept in file.
func (j *Journal) read(generation, file string) (store.Record, error) {
	raw, err := os.ReadFile(generation)
	if err != nil {
		return store.Record{}, err
	}
	name, data, err := decode(raw)
	if err != nil {
		return store.Record{}, err
	}
	if checkName(name) != nil || j.file(name) != file {
		return store.Record{}, fmt.Errorf("it is the record %q, not the one it is filed as", name)
	}
	return store.Record{Name: name, Data: data}, nil
}

// fallBack puts a damaged record aside and the generation before it, when that
// one is sound, in its place.
func (j *Journal) fallBack(file string, reason error) (store.Record, Quarantined) {
	previous := file + previousSuffix
	r, err := j.read(previous, file)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = errors.New("there is none")
		} else {
			j.setAside(previous, err)
		}
		return r, j.setAside(file, fmt.Errorf("%w; the previous generation: %w", reason, err))
	}
	q := j.keepCopy(file, reason)
	// Straight over the damaged file: without a current one the record would
	// count as deleted.
	if err := j.rename(previous, file); err != nil {
		q.Reason = fmt.Sprintf("%s; put the previous generation in its place: %v", q.Reason, err)
	}
	q.Recovered = true
	return r, q
}

// rename renames a file within one directory, durably.
func (j *Journal) rename(from, to string) error {
	if err := j.disk.rename(from, to); err != nil {
		return err
	}
	return j.disk.sync(filepath.Dir(to))
}

// setAside moves a file to quarantine.
func (j *Journal) setAside(file string, reason error) Quarantined {
	q := j.keepCopy(file, reason)
	if q.File == file {
		return q // a file that cannot be kept elsewhere stays where it is
	}
	if err := j.disk.remove(file); err != nil {
		q.Reason = fmt.Sprintf("%s; remove it: %v", q.Reason, err)
	}
	return q
}

// keepCopy links a file into quarantine under a name that is free there.
func (j *Journal) keepCopy(file string, reason error) Quarantined {
	q := Quarantined{File: file, Reason: reason.Error()}
	if name, ok := strings.CutPrefix(file, j.records()+"/"); ok {
		q.Name = strings.TrimSuffix(strings.TrimSuffix(name, previousSuffix), recordSuffix)
	}
	place := filepath.Join(j.quarantine(), strings.TrimPrefix(file, j.dir+"/"))
	err := j.dirs.make(filepath.Dir(place))
	for n := 1; err == nil; n++ {
		to := place + "." + strconv.Itoa(n)
		if err = j.disk.link(file, to); err == nil {
			q.File = to
			err = j.disk.sync(filepath.Dir(to))
			break
		}
		if errors.Is(err, fs.ErrExist) {
			err = nil
		}
	}
	if err != nil {
		q.Reason = fmt.Sprintf("%s; keep it in quarantine: %v", q.Reason, err)
	}
	return q
}

// sweep removes the staged files of commits that never happened, and puts aside
// previous generations without a current one.
func (j *Journal) sweep() error {
	err := j.eachFile(func(file string) {
		switch filepath.Ext(file) {
		case stagedSuffix:
			j.sweepStaged(file)
		case previousSuffix:
			if _, err := os.Lstat(strings.TrimSuffix(file, previousSuffix)); errors.Is(err, fs.ErrNotExist) {
				reason := errors.New("a previous generation without a current one: taken as deleted")
				j.found = append(j.found, j.setAside(file, reason))
			}
		}
	})
	if err != nil {
		return err
	}
	left, err := os.ReadDir(j.transactions())
	for _, f := range left {
		if strings.HasSuffix(f.Name(), stagedSuffix) {
			j.sweepStaged(filepath.Join(j.transactions(), f.Name()))
		}
	}
	return err
}

func (j *Journal) sweepStaged(file string) {
	if err := j.disk.remove(file); err != nil {
		j.log.Warn("cannot remove a file of an unfinished commit", "file", file, "err", err)
	}
}

// eachFile visits everything below the records that is no directory.
func (j *Journal) eachFile(visit func(file string)) error {
	return filepath.WalkDir(j.records(), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if !d.IsDir() {
			visit(path)
		}
		return nil
	})
}
