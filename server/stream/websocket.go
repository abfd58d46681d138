package stream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"k8s.io/cri-streaming/pkg/streaming/remotecommand"
	"k8s.io/streaming/pkg/httpstream/wsstream"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodal/node"
)

const (
	binaryV5 = remotecommand.StreamProtocolV5Name
	binaryV4 = remotecommand.StreamProtocolV4Name
	base64V4 = "v4." + wsstream.Base64ChannelWebSocketProtocol
)

// overWebSocket also speaks version 5, kubectl's first choice, in which a client can close its
// input alone. The library speaks versions up to 4.
func overWebSocket(w http.ResponseWriter, r *http.Request, wanted Wanted, idle time.Duration, run Command) {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	channels := channelsOf(wanted)
	conn := wsstream.NewConn(map[string]wsstream.ChannelProtocolConfig{
		binaryV5: {Binary: true, Channels: channels},
		binaryV4: {Binary: true, Channels: channels},
		base64V4: {Binary: false, Channels: channels},
		// For versions before 4, and for clients that name no protocol.
		"":                                      {Binary: true, Channels: channels},
		wsstream.ChannelWebSocketProtocol:       {Binary: true, Channels: channels},
		wsstream.Base64ChannelWebSocketProtocol: {Binary: false, Channels: channels},
	})
	conn.SetIdleTimeout(idle)
	ws := &closing{ResponseWriter: w}
	protocol, open, err := conn.Open(ws, r)
	if err != nil {
		slog.DebugContext(r.Context(), "cannot upgrade to WebSocket", "path", r.URL.Path, "err",
			err) // the client got the error
		return
	}
	defer conn.Close()
	sizes, gone := make(chan node.TerminalSize, 1), make(chan struct{})
	go func() {
		defer close(gone)
		readSizes(open[remotecommand.StreamResize], sizes)
		cancel() // the connection ends with this channel
	}()
	exit, err := run(ctx, streamsOf(wanted, open, sizes))
	if cause := context.Cause(r.Context()); err != nil && cause != nil {
		err = cause // this side ended it, and the cause says more
	}
	// A client that is gone gets no status.
	tell(open[remotecommand.StreamErr], protocol, ending(exit, err))
	if why := revoked(r.Context()); why != nil {
		ws.frames.closeWith(why.Error())
		select { // what the client has sent meanwhile would discard the reason, if the connection were closed at once
		case <-gone:
		case <-time.After(lastWords):
		}
	}
}

// tell sends a client how its command ended.
func tell(to io.Writer, protocol string, end metav1.Status) {
	switch protocol {
	case binaryV5, binaryV4, base64V4:
		_ = json.NewEncoder(to).Encode(end)
	default: // older versions send nothing on success, and plain text on failure
		if end.Message != "" {
			_, _ = io.WriteString(to, end.Message)
		}
	}
}

func channelsOf(wanted Wanted) []wsstream.ChannelType {
	either := func(is bool, kind wsstream.ChannelType) wsstream.ChannelType {
		if is {
			return kind
		}
		return wsstream.IgnoreChannel
	}
	return []wsstream.ChannelType{
		remotecommand.StreamStdIn:  either(wanted.Stdin, wsstream.ReadChannel),
		remotecommand.StreamStdOut: either(wanted.Stdout, wsstream.WriteChannel),
		remotecommand.StreamStdErr: either(wanted.Stderr, wsstream.WriteChannel),
		remotecommand.StreamErr:    wsstream.WriteChannel,
		remotecommand.StreamResize: wsstream.ReadChannel,
	}
}

func streamsOf(wanted Wanted, open []io.ReadWriteCloser, sizes <-chan node.TerminalSize) node.Streams {
	s := node.Streams{TTY: wanted.TTY}
	if wanted.Stdin {
		s.Stdin = open[remotecommand.StreamStdIn]
	}
	if wanted.Stdout {
		s.Stdout = open[remotecommand.StreamStdOut]
	}
	if wanted.Stderr {
		s.Stderr = open[remotecommand.StreamStdErr]
	}
	if wanted.TTY {
		s.Resize = sizes
	}
	return s
}

// readSizes returns when the connection ends. It drops the sizes if there is no terminal.
func readSizes(from io.Reader, to chan node.TerminalSize) {
	defer close(to)
	decoder := json.NewDecoder(from)
	for {
		var size node.TerminalSize
		if decoder.Decode(&size) != nil {
			_, _ = io.Copy(io.Discard, from) // to the end, so that the client can go on
			return
		}
		// Only the latest size counts, and its reader may be slow or absent.
		select {
		case <-to:
		default:
		}
		to <- size
	}
}

// ending returns the status that the error channel carries at the command's end.
func ending(exit int32, err error) metav1.Status {
	switch {
	case errors.Is(err, node.ErrDenied):
		return metav1.Status{
			Status: metav1.StatusFailure, Reason: metav1.StatusReasonUnauthorized, Code: http.StatusUnauthorized,
			Message: err.Error(),
		}
	case err != nil:
		return metav1.Status{
			Status: metav1.StatusFailure, Reason: metav1.StatusReasonInternalError, Code: http.StatusInternalServerError,
			Message: err.Error(),
		}
	case exit != 0:
		return metav1.Status{
			Status: metav1.StatusFailure, Reason: remotecommand.NonZeroExitCodeReason,
			Message: fmt.Sprintf("command terminated with non-zero exit code: %d", exit),
			Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{{
				Type: remotecommand.ExitCodeCauseType, Message: strconv.Itoa(int(exit)),
			}}},
		}
	}
	return metav1.Status{Status: metav1.StatusSuccess}
}
