package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/grpc"
	"google.golang.org/grpc/status"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/server/method"
	"nodal/server/wire"
)

// rest answers under /v1. Single answers come from grpc-gateway, but for lists of
// pods (rest_pods.go).
// Streams do not: it wraps each message in an object of its own, cannot write
// server-sent events, and answers some errors with other codes than we do.
type rest struct {
	gateway http.Handler
	own     map[string]http.Handler // by the full name of the method
}

// handler returns what answers a method over REST. A stream needs a handler of its own.
func (r *rest) handler(m method.Method) (http.Handler, error) {
	if own, ok := r.own[m.Name]; ok {
		return own, nil
	}
	if m.Stream && len(m.Paths) > 0 {
		return nil, fmt.Errorf("method %s: it streams and has a path, but REST has no handler for it; add one", m.Name)
	}
	return r.gateway, nil
}

func newREST(limits wire.BodyLimits, conn grpc.ClientConnInterface) (*rest, error) {
	mux := runtime.NewServeMux(
		runtime.WithMarshalerOption(runtime.MIMEWildcard, &restMarshaler{}),
		runtime.WithErrorHandler(func(_ context.Context, _ *runtime.ServeMux, _ runtime.Marshaler, w http.ResponseWriter, _ *http.Request, err error) {
			wire.WriteStatus(w, status.Convert(err))
		}),
		runtime.WithIncomingHeaderMatcher(onlyTrace),
		runtime.WithOutgoingHeaderMatcher(noHeader),
		runtime.WithDisablePathLengthFallback(),
		runtime.WithDisableHTTPMethodOverride(),
		runtime.WithWriteContentLength(),
	)
	ctx := context.Background() // unused by handlers on a connection of ours
	err := errors.Join(
		nodev1.RegisterManifestsServiceHandlerClient(ctx, mux, nodev1.NewManifestsServiceClient(conn)),
		nodev1.RegisterObjectsServiceHandlerClient(ctx, mux, nodev1.NewObjectsServiceClient(conn)),
		nodev1.RegisterConfigMapsServiceHandlerClient(ctx, mux, nodev1.NewConfigMapsServiceClient(conn)),
		nodev1.RegisterSecretsServiceHandlerClient(ctx, mux, nodev1.NewSecretsServiceClient(conn)),
		nodev1.RegisterPersistentVolumesServiceHandlerClient(ctx, mux, nodev1.NewPersistentVolumesServiceClient(conn)),
		nodev1.RegisterRuntimeClassesServiceHandlerClient(ctx, mux, nodev1.NewRuntimeClassesServiceClient(conn)),
		nodev1.RegisterClusterTrustBundlesServiceHandlerClient(ctx, mux, nodev1.NewClusterTrustBundlesServiceClient(conn)),
		nodev1.RegisterPersistentVolumeClaimsServiceHandlerClient(ctx, mux, nodev1.NewPersistentVolumeClaimsServiceClient(conn)),
		nodev1.RegisterPodsServiceHandlerClient(ctx, mux, nodev1.NewPodsServiceClient(conn)),
		nodev1.RegisterExecServiceHandlerClient(ctx, mux, nodev1.NewExecServiceClient(conn)),
		nodev1.RegisterEventsServiceHandlerClient(ctx, mux, nodev1.NewEventsServiceClient(conn)),
		nodev1.RegisterImagesServiceHandlerClient(ctx, mux, nodev1.NewImagesServiceClient(conn)),
		nodev1.RegisterStatsServiceHandlerClient(ctx, mux, nodev1.NewStatsServiceClient(conn)),
		nodev1.RegisterNodeServiceHandlerClient(ctx, mux, nodev1.NewNodeServiceClient(conn)),
	)
	if err != nil {
		return nil, err
	}
	return &rest{gateway: wire.ReadBody(limits, mux), own: map[string]http.Handler{
		nodev1.PodsService_ListPods_FullMethodName:        restPods{nodev1.NewPodsServiceClient(conn)},
		nodev1.PodsService_WatchPods_FullMethodName:       stream{open: openPodWatch(nodev1.NewPodsServiceClient(conn))},
		nodev1.ObjectsService_WatchObjects_FullMethodName: stream{open: openObjectWatch(nodev1.NewObjectsServiceClient(conn))},
		nodev1.EventsService_WatchEvents_FullMethodName:   stream{open: openEventWatch(nodev1.NewEventsServiceClient(conn))},
		nodev1.StatsService_WatchStats_FullMethodName:     stream{open: openStatsWatch(nodev1.NewStatsServiceClient(conn))},
		nodev1.NodeService_WatchNode_FullMethodName:       stream{open: openNodeWatch(nodev1.NewNodeServiceClient(conn))},
		nodev1.LogsService_ReadLogs_FullMethodName:        stream{open: openLogs(nodev1.NewLogsServiceClient(conn)), plain: true},
		nodev1.ImagesService_ImportImages_FullMethodName:  importBody{client: nodev1.NewImagesServiceClient(conn)},
	}}, nil
}

// onlyTrace keeps HTTP headers and gRPC metadata apart: what is behind the gateway
// reads no header but the one that says of which trace a request is a part.
func onlyTrace(header string) (string, bool) { return traceHeader, header == traceHeader }

// noHeader keeps metadata out of answers.
func noHeader(string) (string, bool) { return "", false }

// restMarshaler is protojson, but for one thing: a request body that is bound
// to a string is taken as it stands. That is how a manifest is posted.
type restMarshaler struct{ runtime.JSONPb }

var _ runtime.Marshaler = (*restMarshaler)(nil)

// NewDecoder reads a raw string or a message.
func (m *restMarshaler) NewDecoder(r io.Reader) runtime.Decoder {
	return runtime.DecoderFunc(func(v any) error {
		text, ok := v.(*string)
		if !ok {
			return m.JSONPb.NewDecoder(r).Decode(v)
		}
		data, err := io.ReadAll(r)
		*text = string(data)
		return err
	})
}

// Marshal ends with a newline, for terminals.
func (m *restMarshaler) Marshal(v any) ([]byte, error) {
	data, err := wire.Compact(m.JSONPb.Marshal(v))
	return append(data, '\n'), err
}
