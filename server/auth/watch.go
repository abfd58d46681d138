package auth

import (
	"context"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/fsnotify/fsnotify"
)

const (
	// rereadEvery bounds the age of an answer out of a file that nothing watches. It is well under the second within
	// which a revoked token has to fail.
	rereadEvery = 400 * time.Millisecond

	// watchedEvery bounds it where a watch reports changes: for what a watch cannot see, such as the file behind a link.
	watchedEvery = 10 * time.Second

	// gathered bounds the time in which a watch waits for more changes before the files are read.
	gathered = 20 * time.Millisecond
)

// pace says how often files are looked at.
type pace struct{ watched atomic.Bool }

func (p *pace) every() time.Duration {
	if p != nil && p.watched.Load() {
		return watchedEvery
	}
	return rereadEvery
}

// Watch notices at once when files of credentials change, and ends what no longer counts, until the context ends. While
// it does not run, or if the machine has no watches left, the files are looked at by the clock.
func (a *Authenticator) Watch(ctx context.Context) {
	notify, err := fsnotify.NewWatcher()
	if err != nil {
		a.log.Warn("cannot watch the files of credentials; they are read by the clock", "err", err)
		return
	}
	defer notify.Close()
	for ctx.Err() == nil {
		a.pace.watched.Store(a.follow(notify))
		a.reconsider() // what has changed before the watch began
		if !a.awaitChange(ctx, notify) {
			break
		}
	}
	a.pace.watched.Store(false)
	a.standing.check()
}

// follow watches all directories of credentials, and reports whether it does.
func (a *Authenticator) follow(notify *fsnotify.Watcher) bool {
	all := true
	for _, dir := range a.watchedDirs() {
		if err := notify.Add(dir); err != nil {
			all = false
		}
	}
	return all
}

func (a *Authenticator) watchedDirs() []string {
	dirs := []string{filepath.Dir(a.cfg.TokenDir), a.cfg.TokenDir, filepath.Dir(a.cfg.CAFile), filepath.Dir(a.cfg.RevokedFile)}
	if ca := a.files.Load().ClientCAFile; ca != "" {
		dirs = append(dirs, filepath.Dir(ca))
	}
	return dirs
}

// awaitChange returns when files of credentials may have changed, and false when the context has ended. Events that were
// lost count as a change.
func (a *Authenticator) awaitChange(ctx context.Context, notify *fsnotify.Watcher) bool {
	var quiet <-chan time.Time
	for {
		select {
		case event := <-notify.Events:
			if event.Name == a.cfg.TokenDir {
				_ = notify.Remove(a.cfg.TokenDir) // follow watches the one that has taken its place
			}
			if quiet == nil && a.concerns(event.Name) {
				quiet = time.After(gathered)
			}
		case <-notify.Errors:
			quiet = time.After(gathered)
		case <-quiet:
			return true
		case <-a.moved:
			return true
		case <-ctx.Done():
			return false
		}
	}
}

// concerns reports whether a path is one of a credential. Beside them lie files that the agent itself writes often.
func (a *Authenticator) concerns(path string) bool {
	switch path {
	case a.cfg.TokenDir, a.cfg.CAFile, a.cfg.RevokedFile:
		return true
	}
	dir := filepath.Dir(path)
	ca := a.files.Load().ClientCAFile
	return dir == a.cfg.TokenDir && strings.HasSuffix(path, ".json") || ca != "" && dir == filepath.Dir(ca)
}

// reconsider reads all files again when they are next asked for, and ends what no longer counts.
func (a *Authenticator) reconsider() {
	a.trust.outdate()
	a.tokens.outdate()
	a.revoked.outdate()
	a.standing.check()
}
