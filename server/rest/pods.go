package rest

import (
	"net/http"

	"github.com/go-chi/chi/v5"
	"google.golang.org/grpc/status"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/server/wire"
)

// listPods answers ListPods with the text of ListPodsText. Both need the same right, and they
// select and fail alike.
type listPods struct{ client nodev1.PodsServiceClient }

func (l listPods) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	request := &nodev1.ListPodsTextRequest{}
	if err := fillFrom(r, request); err != nil {
		wire.WriteStatus(w, status.Convert(err))
		return
	}
	if namespace := chi.URLParam(r, "namespace"); namespace != "" {
		request.Namespace = namespace
	}
	answer, err := l.client.ListPodsText(r.Context(), request)
	if err != nil {
		wire.WriteStatus(w, status.Convert(err))
		return
	}
	wire.WriteJSON(w, answer.GetJson())
}
