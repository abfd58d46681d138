package journal

import (
	"fmt"
	"path/filepath"

	"nodal/node/store"
)

// creator writes a file whole and syncs it.
type creator func(path string, data []byte) error

// createOverSpare takes the space that is kept back where the disk has none.
func (j *Journal) createOverSpare(path string, data []byte) error {
	full := j.disk.create(path, data)
	if !isFull(full) {
		return full
	}
	if made, err := j.spares.create(path, data); made {
		return err
	}
	return full
}

// write commits one record.
func (j *Journal) write(r store.Record, create creator) error {
	id := j.lastID.Add(1)
	if err := j.stage(r, id, create); err != nil {
		return err
	}
	file := j.file(r.Name)
	if err := j.replace(file, staged(file, id)); err != nil {
		// What cannot be removed now is swept by the next Open.
		_ = j.disk.remove(staged(file, id))
		return err
	}
	return j.disk.sync(filepath.Dir(file))
}

// erase commits the deletion of one record. It needs no space.
func (j *Journal) erase(name string) error {
	file := j.file(name)
	if err := j.unlink(file); err != nil {
		return err
	}
	// Without the directory there never was such a record.
	return unlessMissing(j.disk.sync(filepath.Dir(file)))
}

// staged names the file that is to become a record's next generation.
func staged(file string, id uint64) string {
	return fmt.Sprintf("%s.%d%s", file, id, stagedSuffix)
}

// stage writes the next generation beside the current one.
func (j *Journal) stage(r store.Record, id uint64, create creator) error {
	file := j.file(r.Name)
	if err := j.dirs.make(filepath.Dir(file)); err != nil {
		return err
	}
	return create(staged(file, id), encode(r.Name, r.Data))
}

// replace makes the staged file the current generation and the current one the
// previous. A link, not a rename, so that there is a current one at all times.
func (j *Journal) replace(file, staged string) error {
	previous := file + previousSuffix
	if err := unlessMissing(j.disk.remove(previous)); err != nil {
		return err
	}
	// On a full disk the new generation counts for more than the old one.
	if err := unlessMissing(j.disk.link(file, previous)); err != nil && !isFull(err) {
		return err
	}
	return j.disk.rename(staged, file)
}

// unlink removes both generations, the older one first: it must not outlive
// the other.
func (j *Journal) unlink(file string) error {
	if err := unlessMissing(j.disk.remove(file + previousSuffix)); err != nil {
		return err
	}
	return unlessMissing(j.disk.remove(file))
}
