// Package containerd calls what containerd offers beside CRI, on the same socket.
//
//	Subscribe ◀── events service:  a container has ended, ran out of memory or was removed
//	End ────────▶ tasks service:   end a task that CRI no longer knows
//	Count ◀────── content service: how much of an image a pull has fetched
//
// Every method returns containerd's gRPC error as it is. Another runtime answers with Unimplemented.
//
// The package holds no connection of its own and knows nothing of CRI. Start reading at client.go.
package containerd
