package listen

import "time"

// Limits of every connection.
const (
	readHeaderTimeout = 10 * time.Second
	idleTimeout       = 90 * time.Second
	// maxHeaderBytes bounds a list of headers. What is decoded of it takes many times as much memory. The tokens of
	// service accounts and of identity providers have one or two KiB, the largest known ones twelve.
	maxHeaderBytes = 16 << 10
)

// Limits of callers that have not proven an identity.
const (
	// A newcomer has not sent the headers of its first request yet.
	maxNewcomers     = 512
	maxNewcomersEach = 128 // of one address
	// A stranger has sent a request that proves nothing.
	maxStrangers     = 64
	maxStrangersEach = 16 // of one address
	strangerAge      = 2 * time.Minute
	strangerIdle     = 15 * time.Second
	// strangerRequests bounds the requests of all strangers that are under way at a time, strangerStreams those of one.
	strangerRequests = 64
	strangerStreams  = 8
	// strangerBytes bounds all that a stranger sends on one connection, headers and bodies of every request.
	strangerBytes = 256 << 10
	// strangerBody bounds the body of a stranger's request: it is for signing in.
	strangerBody = 64 << 10
	// strangerTime bounds how long such a request takes, its body and its answer included.
	strangerTime = 30 * time.Second
)

// maxPlain bounds the connections of a port without TLS, where no caller proves anything.
const maxPlain = 256

// smallestWindow is the window with which every connection and every stream of HTTP/2 begins.
const smallestWindow = 64<<10 - 1
