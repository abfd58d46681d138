package uevent

import (
	"context"
	"os"
	"testing"
	"time"
)

func TestAMessageNamesItsSubsystem(t *testing.T) {
	for _, c := range []struct{ name, message, want string }{
		{"a CPU that goes", "offline@/devices/system/cpu/cpu1\x00ACTION=offline\x00DEVPATH=/devices/system/cpu/cpu1\x00SUBSYSTEM=cpu\x00SEQNUM=7\x00", "cpu"},
		{"a message that is cut off", "offline@/devices/system/cpu/cpu1\x00ACTION=off", ""},
		{"nothing", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := subsystem(c.message); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestWatchHearsTheKernelUntilItsContextEnds(t *testing.T) {
	const device = "/sys/devices/system/cpu/cpu0/uevent"
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	woken, ended := make(chan struct{}, 1), make(chan error, 1)
	go func() {
		ended <- Watch(ctx, func() {
			select {
			case woken <- struct{}{}:
			default:
			}
		}, "cpu")
	}()
	// The kernel says again what it has said of a device, if it is asked to. The watch may not listen yet.
	for again := time.NewTicker(50 * time.Millisecond); ; {
		if err := os.WriteFile(device, []byte("change"), 0); err != nil {
			t.Skipf("the kernel cannot be made to send an event: %v", err)
		}
		select {
		case <-woken:
			again.Stop()
			cancel()
			if err := <-ended; err != nil {
				t.Errorf("got %v, want the watch to end with its context", err)
			}
			return
		case err := <-ended:
			t.Fatalf("got %v, want an event", err)
		case <-again.C:
		}
	}
}
