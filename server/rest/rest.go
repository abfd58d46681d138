package rest

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
	"nodal/server/trace"
	"nodal/server/wire"
)

// Handlers holds the handler of each method. grpc-gateway serves single answers, except lists
// of pods. It does not serve streams: it wraps each message in an object, cannot write
// server-sent events, and maps some errors to other codes.
type Handlers struct {
	gateway http.Handler
	own     map[string]http.Handler // by the method's full name
}

// Handler returns the handler of a method at one of its paths. A stream needs one of its own.
func (h *Handlers) Handler(m method.Method, at method.Path) (http.Handler, error) {
	handler, ok := h.own[m.Name]
	switch {
	case ok:
	case m.Stream:
		return nil, fmt.Errorf("method %s: it streams and has a path, but REST has no handler for it; add one", m.Name)
	default:
		handler = h.gateway
	}
	if !at.Body && !m.Takes { // the tarball of an import is a body that the proto does not know
		handler = withoutBody(handler)
	}
	return refuseUnknown(at.Query, handler), nil
}

// withoutBody leaves a body unread that means nothing.
func withoutBody(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.NoBody
		next.ServeHTTP(w, r)
	})
}

// New returns handlers that make their calls on conn.
func New(conn grpc.ClientConnInterface, limits wire.BodyLimits) (*Handlers, error) {
	mux := runtime.NewServeMux(
		runtime.WithMarshalerOption(runtime.MIMEWildcard, &marshaler{}),
		runtime.WithErrorHandler(func(_ context.Context, _ *runtime.ServeMux, _ runtime.Marshaler, w http.ResponseWriter,
			_ *http.Request, err error) {
			wire.WriteStatus(w, status.Convert(err))
		}),
		runtime.WithIncomingHeaderMatcher(traceparentOnly),
		runtime.WithOutgoingHeaderMatcher(noneOut),
		runtime.WithDisablePathLengthFallback(),
		runtime.WithDisableHTTPMethodOverride(),
		runtime.WithWriteContentLength(),
	)
	ctx := context.Background() // handlers on this connection do not use it
	err := errors.Join(
		nodev1.RegisterManifestsServiceHandlerClient(ctx, mux, nodev1.NewManifestsServiceClient(conn)),
		nodev1.RegisterObjectsServiceHandlerClient(ctx, mux, nodev1.NewObjectsServiceClient(conn)),
		nodev1.RegisterConfigMapsServiceHandlerClient(ctx, mux, nodev1.NewConfigMapsServiceClient(conn)),
		nodev1.RegisterSecretsServiceHandlerClient(ctx, mux, nodev1.NewSecretsServiceClient(conn)),
		nodev1.RegisterPersistentVolumesServiceHandlerClient(ctx, mux, nodev1.NewPersistentVolumesServiceClient(conn)),
		nodev1.RegisterRuntimeClassesServiceHandlerClient(ctx, mux, nodev1.NewRuntimeClassesServiceClient(conn)),
		nodev1.RegisterClusterTrustBundlesServiceHandlerClient(ctx, mux, nodev1.NewClusterTrustBundlesServiceClient(conn)),
		nodev1.RegisterPersistentVolumeClaimsServiceHandlerClient(ctx, mux,
			nodev1.NewPersistentVolumeClaimsServiceClient(conn)),
		nodev1.RegisterPodsServiceHandlerClient(ctx, mux, nodev1.NewPodsServiceClient(conn)),
		nodev1.RegisterLogsServiceHandlerClient(ctx, mux, nodev1.NewLogsServiceClient(conn)),
		nodev1.RegisterExecServiceHandlerClient(ctx, mux, nodev1.NewExecServiceClient(conn)),
		nodev1.RegisterEventsServiceHandlerClient(ctx, mux, nodev1.NewEventsServiceClient(conn)),
		nodev1.RegisterImagesServiceHandlerClient(ctx, mux, nodev1.NewImagesServiceClient(conn)),
		nodev1.RegisterStatsServiceHandlerClient(ctx, mux, nodev1.NewStatsServiceClient(conn)),
		nodev1.RegisterNodeServiceHandlerClient(ctx, mux, nodev1.NewNodeServiceClient(conn)),
		nodev1.RegisterNodeLogsServiceHandlerClient(ctx, mux, nodev1.NewNodeLogsServiceClient(conn)),
		nodev1.RegisterTokensServiceHandlerClient(ctx, mux, nodev1.NewTokensServiceClient(conn)),
		nodev1.RegisterAuditServiceHandlerClient(ctx, mux, nodev1.NewAuditServiceClient(conn)),
		nodev1.RegisterCertificatesServiceHandlerClient(ctx, mux, nodev1.NewCertificatesServiceClient(conn)),
	)
	if err != nil {
		return nil, err
	}
	audit := nodev1.NewAuditServiceClient(conn)
	pods, logs := nodev1.NewPodsServiceClient(conn), nodev1.NewLogsServiceClient(conn)
	return &Handlers{gateway: wire.ReadBody(limits, mux), own: map[string]http.Handler{
		nodev1.PodsService_ListPods_FullMethodName:           listPods{pods},
		nodev1.PodsService_WatchPods_FullMethodName:          stream{open: watch(pods.WatchPods)},
		nodev1.ObjectsService_WatchObjects_FullMethodName:    stream{open: watch(nodev1.NewObjectsServiceClient(conn).WatchObjects)},
		nodev1.EventsService_WatchEvents_FullMethodName:      stream{open: watch(nodev1.NewEventsServiceClient(conn).WatchEvents)},
		nodev1.StatsService_WatchStats_FullMethodName:        stream{open: watch(nodev1.NewStatsServiceClient(conn).WatchStats)},
		nodev1.AuditService_WatchAuditEntries_FullMethodName: stream{open: watch(audit.WatchAuditEntries)},
		nodev1.NodeService_WatchNode_FullMethodName:          stream{open: watch(nodev1.NewNodeServiceClient(conn).WatchNode)},
		nodev1.LogsService_ReadLogs_FullMethodName:           stream{open: readLogs(logs), plain: true},
		nodev1.NodeLogsService_ReadNodeLog_FullMethodName:    stream{open: readNodeLog(nodev1.NewNodeLogsServiceClient(conn)), plain: true},
		nodev1.ImagesService_ImportImages_FullMethodName:     importBody{client: nodev1.NewImagesServiceClient(conn)},
	}}, nil
}

// traceparentOnly keeps HTTP headers out of gRPC metadata, except the one that names the trace
// of a request.
func traceparentOnly(header string) (string, bool) { return trace.Parent, header == trace.Parent }

// noneOut keeps metadata out of answers.
func noneOut(string) (string, bool) { return "", false }

// marshaler is protojson, with one exception: a request body that is bound to a string is
// taken as it stands. That is how a manifest is posted.
type marshaler struct{ runtime.JSONPb }

var _ runtime.Marshaler = (*marshaler)(nil)

// NewDecoder reads a raw string or a message.
func (m *marshaler) NewDecoder(r io.Reader) runtime.Decoder {
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
func (m *marshaler) Marshal(v any) ([]byte, error) {
	data, err := wire.Compact(m.JSONPb.Marshal(v))
	return append(data, '\n'), err
}
