// Package thread runs work on a thread of the kernel that nothing else uses, so that the work may change what belongs
// to a thread: its namespaces, its user, its working directory.
package thread

import (
	goruntime "runtime"

	"golang.org/x/sys/unix"
)

// Own runs a function on a thread that ends with it, and returns the function's error.
func Own(do func() error) error {
	done := make(chan error, 1)
	go own(do, done)
	return <-done
}

// own never uses the process's first thread. Go parks that thread instead of ending it, and /proc/self shows what it
// is: after a change of its network namespace the whole process would read another network's /proc/net.
func own(do func() error, done chan<- error) {
	goruntime.LockOSThread() // without an unlock the thread ends with this goroutine
	if unix.Gettid() != unix.Getpid() {
		done <- do()
		return
	}
	other := make(chan error, 1)
	go own(do, other)
	err := <-other
	goruntime.UnlockOSThread()
	done <- err
}
