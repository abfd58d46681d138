package inproc

import (
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// options holds the call options that have an effect without a wire.
type options struct {
	headers  []*metadata.MD
	trailers []*metadata.MD
	onFinish []func(error)
}

func readOptions(opts []grpc.CallOption) (options, error) {
	var o options
	for _, opt := range opts {
		switch opt := opt.(type) {
		case grpc.HeaderCallOption:
			o.headers = append(o.headers, opt.HeaderAddr)
		case grpc.TrailerCallOption:
			o.trailers = append(o.trailers, opt.TrailerAddr)
		case grpc.PeerCallOption:
			*opt.PeerAddr = *localPeer()
		case grpc.OnFinishCallOption:
			o.onFinish = append(o.onFinish, opt.OnFinish)
		case grpc.PerRPCCredsCallOption:
			// Without its credentials, the caller would be anonymous.
			return o, status.Error(codes.Unimplemented, "credentials of a single call are not supported in process")
		}
	}
	return o, nil
}

// finish fills in the metadata that the caller asked for.
func (o options) finish(t *transport, err error) {
	header, trailer := t.metadata()
	for _, h := range o.headers {
		*h = header
	}
	for _, tr := range o.trailers {
		*tr = trailer
	}
	for _, f := range o.onFinish {
		f(err)
	}
}
