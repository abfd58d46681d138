package certificate

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// An API server answers a list if a request does not ask for a watch by its query.
func TestAnApprovalIsHeardByAWatch(t *testing.T) {
	issued := &certificatesv1.CertificateSigningRequest{
		TypeMeta:   metav1.TypeMeta{APIVersion: certificatesv1.SchemeGroupVersion.String(), Kind: "CertificateSigningRequest"},
		ObjectMeta: metav1.ObjectMeta{Name: "node-csr-a", ResourceVersion: "8"},
		Status:     certificatesv1.CertificateSigningRequestStatus{Certificate: []byte("chain")},
	}
	asked := make(chan string, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		var answer any = certificatesv1.CertificateSigningRequestList{
			TypeMeta: metav1.TypeMeta{APIVersion: certificatesv1.SchemeGroupVersion.String(), Kind: "CertificateSigningRequestList"},
		}
		if r.URL.Query().Get("watch") == "true" {
			answer = map[string]any{"type": "MODIFIED", "object": issued}
		}
		asked <- r.URL.RawQuery
		if err := json.NewEncoder(w).Encode(answer); err != nil {
			t.Error(err)
		}
	}))
	defer server.Close()
	a, err := dial(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	seen := &certificatesv1.CertificateSigningRequest{ObjectMeta: metav1.ObjectMeta{Name: "node-csr-a", ResourceVersion: "7"}}
	got, err := a.next(t.Context(), seen)
	if err != nil || string(got.Status.Certificate) != "chain" {
		t.Errorf("got %+v, %v, want the request with its certificate", got, err)
	}
	if query := <-asked; query != "fieldSelector=metadata.name%3Dnode-csr-a&resourceVersion=7&watch=true" {
		t.Errorf("asked %s", query)
	}
}
