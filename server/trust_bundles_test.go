package server

import (
	"strings"
	"testing"
)

const (
	trustManifest = `apiVersion: certificates.k8s.io/v1beta1
kind: ClusterTrustBundle
metadata: {name: "example.com:ca:v1"}
spec:
  signerName: example.com/ca
  trustBundle: |
    -----BEGIN CERTIFICATE-----
    MIIBBDCBt6ADAgECAgEBMAUGAytlcDASMRAwDgYDVQQDEwdleGFtcGxlMB4XDTI2
    MDEwMTAwMDAwMFoXDTQ5MDEwMTAwMDAwMFowEjEQMA4GA1UEAxMHZXhhbXBsZTAq
    MAUGAytlcAMhAH4Q/jnxrasDJ814z4MJAqaSXUsiyF/B4XUS0vwd/KWFozIwMDAP
    BgNVHRMBAf8EBTADAQH/MB0GA1UdDgQWBBQF2ruvB52f4Y7ycoj1PtxFuB4JuzAF
    BgMrZXADQQCGsO1HNenwsF/EFeX6TKn6LESJXMaAQAPvD+yBjUDMrTOl3r7uUmAy
    OtRbsHLqXvk5R3FZ/Lhbb2TaFROClnoL
    -----END CERTIFICATE-----
`
	trustPath = "/v1/clustertrustbundles/example.com:ca:v1"
)

func TestPostedTrustBundlesAreShown(t *testing.T) {
	n := newNode(t)
	n.apply(t, trustManifest)
	for _, path := range []string{trustPath, "/v1/clustertrustbundles"} {
		n.wantShown(t, path, `"name":"example.com:ca:v1"`, `"signerName":"example.com/ca"`, `"certificates.k8s.io/v1"`)
	}
	if got := n.do(t, "PUT", trustPath, strings.Replace(trustManifest, "v1\"}", "v1\", labels: {a: b}}", 1)); got.status != 200 || !strings.Contains(got.body, "RESULT_UPDATED") {
		t.Errorf("a change of labels: got %d %s", got.status, got.body)
	}
	if got := n.do(t, "PUT", trustPath, strings.Replace(trustManifest, "    MII", "    \n    MII", 1)); !strings.Contains(got.body, `"spec"`) {
		t.Errorf("a change of the text: got %d %s, want it told", got.status, got.body)
	}
	for _, path := range []string{"/v1/manifests", trustPath} {
		if got := n.do(t, "DELETE", path, trustManifest); got.status != 200 {
			t.Errorf("delete by %s: got %d %s", path, got.status, got.body)
		}
		if got := n.do(t, "GET", trustPath, ""); got.status != 404 {
			t.Errorf("after that: got %d %s", got.status, got.body)
		}
		n.apply(t, trustManifest)
	}
}
