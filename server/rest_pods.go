package server

import (
	"net/http"
	"strconv"

	"github.com/go-chi/chi/v5"
	"google.golang.org/grpc/status"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/server/wire"
)

// restPods lists pods over REST, as the text that ListPodsText makes. ListPods and it need
// the same right, select alike and fail alike.
type restPods struct{ client nodev1.PodsServiceClient }

func (l restPods) ServeHTTP(w http.ResponseWriter, r *http.Request) {
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

// listText writes a ListPodsResponse exactly as protojson would.
func listText(pods []rendered, revision int64) []byte {
	const head, typed, around = `{"pods":[`, `,"object":{"apiVersion":"v1","kind":"Pod",`, len(`{"pods":[],"revision":""}`) + 20
	size := around
	for _, pod := range pods {
		size += len(pod.summary) + len(typed) + len(pod.object) + 1
	}
	text := append(make([]byte, 0, size), head...)
	for i, pod := range pods {
		if i > 0 {
			text = append(text, ',')
		}
		text = append(text, pod.summary[:len(pod.summary)-1]...)
		text = append(text, typed...)
		text = append(text, pod.object[1:]...)
		text = append(text, '}')
	}
	text = append(text, `],"revision":"`...)
	text = strconv.AppendInt(text, revision, 10)
	return append(text, "\"}\n"...)
}
