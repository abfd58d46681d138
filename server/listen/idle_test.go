package listen

import (
	"runtime"
	"testing"
	"testing/synctest"
	"time"
)

// What a timer keeps is there for fifteen seconds at least.
func TestNothingStaysOfAConnectionThatEndedDuringARequest(t *testing.T) {
	for name, sort := range ways {
		for caller, known := range map[string]bool{"a known caller": true, "a stranger": false} {
			t.Run(name+" of "+caller, func(t *testing.T) {
				t.Parallel()
				c, end := pipeTo(t, sort, known)
				c.request(1, checkPath)
				c.WriteData(1, false, emptyMessage[:4])
				c.settle()
				c.Close()
				for deadline := time.Now().Add(10 * time.Second); end() != nil; runtime.GC() {
					if time.Now().After(deadline) {
						t.Fatal("something keeps the connection")
					}
					time.Sleep(10 * time.Millisecond)
				}
			})
		}
	}
}

func TestAConnectionWithoutARequestIsClosed(t *testing.T) {
	for known, want := range map[bool]time.Duration{true: idleTimeout, false: strangerIdle} {
		synctest.Test(t, func(t *testing.T) {
			c, _ := pipeTo(t, ways["net/http"], known)
			for _, pause := range []time.Duration{0, want / 2} { // the second request restarts the time
				time.Sleep(pause)
				c.request(c.latest+1+c.latest%2, checkPath)
				c.WriteData(c.latest, true, emptyMessage)
				if got := c.status(); got == "none" {
					t.Fatal("the call has no status")
				}
			}
			begun := time.Now()
			for {
				if _, err := c.ReadFrame(); err != nil {
					break
				}
			}
			if got := time.Since(begun); got != want {
				t.Errorf("known %v: closed after %v, want %v", known, got, want)
			}
		})
	}
}

func TestAConnectionWithARequestIsNotIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := pipeTo(t, ways["net/http"], true)
		c.request(1, "/grpc.health.v1.Health/Watch")
		c.WriteData(1, true, emptyMessage)
		c.SetReadDeadline(time.Now().Add(3 * idleTimeout))
		if got, err := c.awaitStatus(); !isTimeout(err) {
			t.Errorf("the watch has ended: status %s, %v", got, err)
		}
	})
}
