package kube

import (
	"bytes"
	"fmt"
	"io"
	"mime"
	"net/http"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

// protobufType names the bodies that client-go writes for Kubernetes' own kinds. It reads JSON as an answer.
const protobufType = "application/vnd.kubernetes.protobuf"

// protobufMark begins each such body.
var protobufMark = []byte("k8s\x00")

// unmarshaler reads protobuf. Kubernetes' types do.
type unmarshaler interface{ Unmarshal([]byte) error }

// readBody reads the body into a value, from JSON, YAML or protobuf. It reports whether there was one, and which kind it
// is said to be in protobuf, where the object itself does not say it.
func readBody(r *http.Request, into any) (kind runtime.TypeMeta, some bool, err error) {
	if r.Body == nil {
		return kind, false, nil
	}
	data, err := io.ReadAll(r.Body)
	if err != nil || len(data) == 0 {
		return kind, false, err
	}
	if !isProtobuf(r) {
		return kind, true, yaml.Unmarshal(data, into)
	}
	inner, marked := bytes.CutPrefix(data, protobufMark)
	target, ok := into.(unmarshaler)
	if !marked || !ok {
		return kind, true, fmt.Errorf("the body does not begin as Kubernetes' protobuf does")
	}
	envelope := runtime.Unknown{}
	if err := envelope.Unmarshal(inner); err != nil {
		return kind, true, err
	}
	return envelope.TypeMeta, true, target.Unmarshal(envelope.Raw)
}

// isProtobuf reports whether the body of a request is Kubernetes' protobuf.
func isProtobuf(r *http.Request) bool {
	of, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	return of == protobufType
}
