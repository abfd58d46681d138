package kube

import (
	"net/http"
	"testing"
)

func TestFormsThatClientsAskFor(t *testing.T) {
	for _, c := range []struct {
		name, accept string
		want         form
	}{
		{"nothing is said", "", whole},
		{"curl", "*/*", whole},
		{"kubectl get", "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json", tables},
		{"an old table, or what there is", "application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json", whole},
		{"client-go", "application/vnd.kubernetes.protobuf,application/json", whole},
		{"metadata", "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1", metas},
		{"protobuf alone", "application/vnd.kubernetes.protobuf", nothing},
		{"XML", "text/xml", nothing},
	} {
		r := &http.Request{Header: http.Header{}}
		if c.accept != "" {
			r.Header.Set("Accept", c.accept)
		}
		if got := formOf(r); got != c.want {
			t.Errorf("%s: got %d, want %d", c.name, got, c.want)
		}
	}
}
