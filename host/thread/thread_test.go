package thread

import (
	"errors"
	goruntime "runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestTheFirstThreadIsLeftAlone(t *testing.T) {
	done := make(chan error, 1)
	onFirstThread(t, func() {
		own(func() error {
			if unix.Gettid() == unix.Getpid() {
				return errors.New("the work ran on the first thread")
			}
			return nil
		}, done)
	})
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// onFirstThread takes threads until it holds the first, and runs a function there.
func onFirstThread(t *testing.T, do func()) {
	release, found := make(chan struct{}), make(chan struct{})
	defer close(release)
	for range 1000 {
		go func() {
			goruntime.LockOSThread()
			defer goruntime.UnlockOSThread()
			if unix.Gettid() == unix.Getpid() {
				do()
				close(found)
			}
			<-release
		}()
		select {
		case <-found:
			return
		case <-time.After(time.Millisecond):
		}
	}
	t.Fatal("a thousand threads, and none is the first")
}

func TestAThreadEndsWithItsWork(t *testing.T) {
	var used int
	err := Own(func() error {
		used = unix.Gettid()
		return errors.New("done")
	})
	if err == nil || err.Error() != "done" {
		t.Errorf("the error is %v, want that of the work", err)
	}
	for unix.Tgkill(unix.Getpid(), used, 0) == nil {
		goruntime.Gosched()
	}
}
