package member

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

func TestTheNewestVersionThatHasTrustBundlesIsAsked(t *testing.T) {
	for _, c := range []struct {
		name   string
		served map[string]string // by path: a resource
		want   string            // the path that is asked, or the error
	}{
		{"the only one", map[string]string{"v1beta1": trustResource}, "/v1beta1/clustertrustbundles"},
		{"the newest", map[string]string{"v1": trustResource, "v1alpha1": trustResource}, "/v1/clustertrustbundles"},
		{"one that has other things is passed over", map[string]string{"v1": "certificatesigningrequests", "v1alpha1": trustResource}, "/v1alpha1/clustertrustbundles"},
		{"none", map[string]string{"v1": "certificatesigningrequests"}, "the API server has no ClusterTrustBundles"},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				resource, ok := c.served[strings.TrimPrefix(r.URL.Path, "/apis/certificates.k8s.io/")]
				if !ok {
					http.NotFound(w, r)
					return
				}
				w.Header().Set("Content-Type", "application/json")
				json.NewEncoder(w).Encode(metav1.APIResourceList{
					TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, APIResources: []metav1.APIResource{{Name: resource}},
				})
			}))
			defer server.Close()
			cluster, err := dial(&rest.Config{Host: server.URL})
			if err != nil {
				t.Fatal(err)
			}
			var got string
			if api, err := cluster.bundles(t.Context()); err != nil {
				got = err.Error()
			} else {
				got = api.Get().Resource(trustResource).URL().Path
			}
			if !strings.HasSuffix(got, c.want) {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}
