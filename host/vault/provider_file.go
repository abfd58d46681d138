package vault

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"

	"nodal/node"
	"nodal/node/seal"
)

// A key file may have companions while keys change:
//
//	KEY.next  the key to be: it seals already, and takes the place of KEY once all records are sealed with it
//	KEY.old   a key before KEY, put there by the owner of the node: it opens records, and is removed with the last of them
const (
	nextSuffix = ".next"
	oldSuffix  = ".old"
)

// fileKeys are keys in files: beside the journal, elsewhere, or credentials of systemd.
type fileKeys struct {
	from   seal.Source
	path   string
	noUnit bool  // systemd has not handed over any credentials
	files  files // nil where the agent changes no file
}

var _ provider = (*fileKeys)(nil)

func (p *fileKeys) source() seal.Source { return p.from }
func (p *fileKeys) place() string       { return p.path }
func (p *fileKeys) wraps() bool         { return false }

// opening returns the keys of all files that are there. A missing key is an error unless its successor is there.
func (p *fileKeys) opening(context.Context, [][]byte) (keys []*key, err error) {
	var wrong []error
	for _, suffix := range []string{nextSuffix, "", oldSuffix} {
		k, err := p.read(p.path + suffix)
		switch {
		case err == nil:
			keys = append(keys, k)
		case !errors.Is(err, fs.ErrNotExist) || suffix == "" && len(keys) == 0:
			wrong = append(wrong, err)
		}
	}
	return keys, errors.Join(wrong...)
}

// sealing returns the next key, if there is one, or else the present key.
func (p *fileKeys) sealing(_ context.Context, w wish) (*key, error) {
	k, err := p.read(p.path + nextSuffix)
	if !errors.Is(err, fs.ErrNotExist) {
		return k, err
	}
	k, err = p.read(p.path)
	if errors.Is(err, fs.ErrNotExist) && p.from.Kind == seal.Beside && w.mayMake {
		if err := p.files.write(p.path, newKey()); err != nil {
			return nil, fmt.Errorf("make the key: %w", err)
		}
		return p.read(p.path)
	}
	return k, err
}

// stage puts a new key beside the present one. A key that an attempt before has put there may have sealed records, and
// stays.
func (p *fileKeys) stage(context.Context) error {
	if p.files == nil {
		return fmt.Errorf("%s is made by systemd-creds, not by the agent: encrypt a new one under its name, load the one before as %s%s, "+
			"and restart the agent, which seals all Secrets again: %w", p.from, p.from.Name, oldSuffix, node.ErrUnsupported)
	}
	if _, err := p.read(p.path + nextSuffix); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return p.files.write(p.path+nextSuffix, newKey())
}

// unsettled reports whether there is a companion of the key that settle takes away.
func (p *fileKeys) unsettled() bool {
	return p.files != nil && (there(p.path+nextSuffix) || there(p.path+oldSuffix))
}

func there(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// settle puts the next key in the place of the present one, and removes the one before.
func (p *fileKeys) settle() error {
	if p.files == nil {
		return nil
	}
	if err := p.files.rename(p.path+nextSuffix, p.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("put the new key in the place of the old one: %w", err)
	}
	return p.removed(p.path + oldSuffix)
}

// retirable reports whether there is a key beside the journal.
func (p *fileKeys) retirable() bool {
	return p.from.Kind == seal.Beside && (p.unsettled() || there(p.path))
}

// retire removes the key beside the journal. A key elsewhere belongs to the owner of the node.
func (p *fileKeys) retire() error {
	if p.from.Kind != seal.Beside {
		return nil
	}
	return errors.Join(p.removed(p.path+nextSuffix), p.removed(p.path+oldSuffix), p.removed(p.path))
}

func (p *fileKeys) removed(path string) error {
	if err := p.files.remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove the old key: %w", err)
	}
	return nil
}

// read reads a key, if its file is one that the owner of the node alone can have written and read.
func (p *fileKeys) read(path string) (*key, error) {
	if p.noUnit {
		return nil, fmt.Errorf("%s: systemd has handed over no credentials; add LoadCredentialEncrypted=%s:FILE to the agent's unit and restart it: %w",
			p.from, p.from.Name, fs.ErrNotExist)
	}
	// A pipe in the place of the file would hold up a start without O_NONBLOCK.
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, p.missing(path, err)
	}
	defer f.Close()
	if err := p.check(f); err != nil {
		return nil, fmt.Errorf("key file %s: %w", path, err)
	}
	raw, err := io.ReadAll(io.LimitReader(f, keySize+1))
	if err != nil {
		return nil, err
	}
	if len(raw) != keySize {
		return nil, fmt.Errorf("key file %s: it holds %s, not %d bytes; put the right key back", path, bytesRead(len(raw)), keySize)
	}
	return fileKey(raw)
}

func bytesRead(n int) string {
	if n > keySize {
		return "more"
	}
	return fmt.Sprint(n)
}

// missing says what to do about a file that cannot be opened.
func (p *fileKeys) missing(path string, err error) error {
	if !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read the key: %w", err)
	}
	remedy := "put it back from a copy"
	switch p.from.Kind {
	case seal.File:
		remedy = fmt.Sprintf("mount the file system that holds it, or make a first key by (umask 077; head -c %d /dev/urandom > %s)", keySize, path)
	case seal.Credential:
		remedy = fmt.Sprintf("add LoadCredentialEncrypted=%s:FILE to the agent's unit and restart it", p.from.Name)
	}
	return fmt.Errorf("key file %s is missing; %s: %w", path, remedy, fs.ErrNotExist)
}

// check refuses a file that other users may read or could have written. That beside the journal is the agent's own.
func (p *fileKeys) check(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return errors.New("it is no regular file")
	}
	if p.from.Kind == seal.Beside {
		return nil
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return fmt.Errorf("its mode is %#o, which lets other users at it; chmod 600 it", mode)
	}
	owner := info.Sys().(*syscall.Stat_t).Uid
	if owner != 0 && int(owner) != os.Geteuid() {
		return fmt.Errorf("it belongs to user %d, who can change it; chown it to root", owner)
	}
	return nil
}
