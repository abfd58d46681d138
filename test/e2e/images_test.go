package e2e

import (
	"strings"
	"testing"

	"nodal/test/claim"
)

// TestImagesOfAForeignRuntime: the runtime of these tests is not the agent's, so
// its images are shown, and an import is refused at once with what to do instead.
func TestImagesOfAForeignRuntime(t *testing.T) {
	claim.Shows(t, "Images", "images of a runtime that is not ours are listed, and an import is refused with what to do instead")
	n := start(t)
	n.apply(web("web").yaml())
	n.waitRunning("web")
	const image = "nodal.test/probe:1"

	if got := n.curl("/v1/images"); got.code != 200 || !strings.Contains(got.body, image) {
		t.Errorf("GET /v1/images: got %s, want 200 and %s", got, image)
	}
	out, failed, code := n.command("", n.Binary, "images", "list", "--socket", n.Socket)
	if code != 0 || !strings.Contains(out, image) {
		t.Errorf("kubelet images list: got code %d, %s%s, want %s", code, out, failed, image)
	}

	const advice = "ctr -n k8s.io images import"
	if got := n.curl("/v1/images:import", "--data-binary", "tarball"); got.code != 409 || !strings.Contains(got.body, advice) {
		t.Errorf("POST /v1/images:import: got %s, want 409 and %q", got, advice)
	}
	_, failed, code = n.command("tarball", n.Binary, "images", "import", "--socket", n.Socket, "-")
	if code != 1 || !strings.Contains(failed, advice) {
		t.Errorf("kubelet images import: got code %d, %s, want 1 and %q", code, failed, advice)
	}
	if got := n.curlTLS("viewer", "/v1/images:import", "--data-binary", "tarball"); got.code != 403 {
		t.Errorf("a viewer imports: got %s, want 403", got)
	}
}
