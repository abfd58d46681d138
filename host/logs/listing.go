package logs

import (
	"os"
	"path/filepath"
	"sync"
	"time"

	"nodal/node"
)

// settled is the age from which on the time of a directory says whether it has changed: the kernel's clock of files is
// coarse, and a change soon after another may get the same time.
const settled = time.Second

// Listing lists the log files of pods again and again. It reads a directory only after something came to it or went from
// it, and otherwise measures the files to which a runtime may write. Its methods may be called from any goroutine.
type Listing struct {
	Layout Layout

	mu   sync.Mutex
	pods map[string]listed // by the names of their directories
}

// listed holds the files of a pod, and when its directories had last changed before they were read.
type listed struct {
	dirs  map[string]time.Time // nil if they may have changed since
	files []node.LogFile
}

// Files lists the log files of pods, of which Key and UID are given. The files of others are forgotten.
func (l *Listing) Files(of []node.LogRun) (all []node.LogFile, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	next := make(map[string]listed, len(of))
	for _, pod := range of {
		name, err := podDir(pod.Key, pod.UID)
		if err != nil {
			return nil, err
		}
		was := l.pods[name]
		if !was.measure() {
			dirs := changes(filepath.Join(l.Layout.Pods, name), time.Now())
			files, err := l.Layout.Files(pod.Key, pod.UID)
			if err != nil {
				return nil, err
			}
			was = listed{dirs, files}
		}
		next[name] = was
		all = append(all, was.files...)
	}
	l.pods = next
	return all, nil
}

// measure brings the sizes of the files up to date, unless the directories have to be read again.
func (p listed) measure() bool {
	if p.dirs == nil {
		return false
	}
	for dir, changed := range p.dirs {
		if info, err := os.Lstat(dir); err != nil || !info.ModTime().Equal(changed) {
			return false
		}
	}
	for i := range p.files {
		f := &p.files[i]
		if f.Rotated {
			continue
		}
		info, err := os.Lstat(f.Path)
		if err != nil || !info.Mode().IsRegular() {
			return false
		}
		f.Bytes, f.Written = onDisk(info), info.ModTime()
	}
	return true
}

// changes returns when the directory of a pod and those in it last changed. It returns nil if one of them has just
// changed, or cannot be looked at.
func changes(pod string, now time.Time) map[string]time.Time {
	all := map[string]time.Time{}
	note := func(dir string) bool {
		info, err := os.Lstat(dir)
		if err != nil || now.Sub(info.ModTime()) < settled {
			return false
		}
		all[dir] = info.ModTime()
		return true
	}
	if !note(pod) {
		return nil
	}
	entries, err := os.ReadDir(pod)
	if err != nil {
		return nil
	}
	for _, e := range entries {
		if e.IsDir() && !note(filepath.Join(pod, e.Name())) {
			return nil
		}
	}
	return all
}
