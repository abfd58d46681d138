package e2e

import (
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	corev1 "k8s.io/api/core/v1"

	nodev1 "nodal/api/gen/node/v1"

	"nodal/test/claim"
	"nodal/test/daemon"
	"nodal/test/rig"
)

// TestImagesOfAForeignRuntime: the runtime of these tests is not the agent's own. So its images are
// listed, and an import is refused at once with a remedy.
func TestImagesOfAForeignRuntime(t *testing.T) {
	claim.Shows(t, "Images", "images of a foreign runtime are listed, and an import into it is refused with a remedy")
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

func TestAnImageIsRemovedOnceNoPodUsesIt(t *testing.T) {
	claim.Shows(t, "Images",
		"an image is removed by name or ID, with all of its names; an image in use stays, and the answer names its pods",
		"an image of which only a container is left that has ended is not removed, by prune neither",
		"the image of sandboxes is not removed",
	)
	n := start(t)
	n.apply(web("web").yaml())
	image := containerStatus(n.waitRunning("web"), "main").ImageID
	remove := func(image string) answer { return n.curl("/v1/images?image="+image, "-X", "DELETE") }
	if got := remove("nodal.test/probe:1"); got.code != 409 || !strings.Contains(got.body, "default/web") {
		t.Errorf("in use: got %s, want 409 and which pod", got)
	}
	out, failed, code := n.command("", n.Binary, "images", "rm", "--socket", n.Socket, n.rt.Image("pause"), "nodal.test/other:1")
	if code != 1 || out != "" || !strings.Contains(failed, "for a sandbox") || !strings.Contains(failed, "not on this node") {
		t.Errorf("kubelet images rm: got code %d, %s%s, want 1 and why neither goes", code, out, failed)
	}
	if got := n.curlTLS("viewer", "/v1/images?image=nodal.test/probe:1", "-X", "DELETE"); got.code != 403 {
		t.Errorf("a viewer: got %s, want 403", got)
	}
	n.deletePod("web", "")
	once := runs("once", "exit", "0")
	once.restart = "Never"
	n.apply(once.yaml())
	n.wait("once", "once ended", func(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodSucceeded })
	if got := remove("nodal.test/probe:1"); got.code != 409 || !strings.Contains(got.body, "default/once") {
		t.Errorf("in use by a container that has ended: got %s, want 409 and which pod", got)
	}
	if out, failed, code := n.command("", n.Binary, "images", "prune", "--socket", n.Socket); code != 0 || strings.Contains(out, "probe:1") {
		t.Errorf("prune beside a container that has ended: got code %d, %s%s", code, out, failed)
	}
	n.deletePod("once", "")
	if got := remove("nodal.test/probe:1"); got.code != 200 || !strings.Contains(got.body, "nodal.test/probe:1") {
		t.Errorf("unused: got %s, want 200 and what it was", got)
	}
	if got := n.curl("/v1/images"); strings.Contains(got.body, "probe:1") {
		t.Errorf("left are %s", got)
	}
	n.apply(web("again").yaml())
	if again := containerStatus(n.waitRunning("again"), "main").ImageID; again != image {
		t.Errorf("pulled again it is %s, want %s", again, image)
	}
}

// TestASandboxImageThatIsMissing uses a runtime that cannot find its configured sandbox image, as
// on a machine without a registry.
func TestASandboxImageThatIsMissing(t *testing.T) {
	claim.Shows(t, "Images", "if the runtime cannot get its sandbox image, FailedCreatePodSandBox says what to do, and the pod starts once it can")
	t.Parallel()
	n := prepareOn(t, rig.Containerd(t, rig.SandboxImage("late/pause:1")))
	n.up()
	events := n.follow("/v1/events:watch")
	n.apply(web("web").yaml())
	told := events.until("FailedCreatePodSandBox")
	if !strings.Contains(told, "late/pause:1") || !strings.Contains(told, "needs this image for each pod: import it there") {
		t.Errorf("the event is %s, want the image and the remedy", told)
	}
	image, err := probeImage(1000)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := n.rt.Push("late/pause:1", image); err != nil {
		t.Fatal(err)
	}
	n.waitRunning("web")
}

// TestAnImportedImageIsRemovedForGood runs the node on its own runtime, which pulls imported images
// from it.
func TestAnImportedImageIsRemovedForGood(t *testing.T) {
	claim.Shows(t, "Images", "a removed image is also removed from the imported ones: no pull brings it back")
	t.Parallel()
	d := daemon.StartAlone(t)
	d.Import("busybox")
	const image = "nodal.test/busybox:1"
	use := func(name string) {
		d.Apply(shell(name, "exec sleep 1000").yaml())
	}
	remove := func() error {
		_, err := nodev1.NewImagesServiceClient(d.Conn()).RemoveImage(t.Context(), &nodev1.RemoveImageRequest{Image: image})
		return err
	}
	use("user")
	d.Await("the pod runs", func(p daemon.Pods) bool { return p.Ready("user") })
	if err := remove(); err == nil || !strings.Contains(err.Error(), "default/user") {
		t.Errorf("in use: got %v, want which pod uses it", err)
	}
	d.Delete("user")
	d.Await("the pod is gone", func(p daemon.Pods) bool { return p.Gone("user") })
	if err := remove(); err != nil {
		t.Errorf("unused: %v", err)
	}
	if err := remove(); status.Code(err) != codes.NotFound {
		t.Errorf("removed again: got %v, want that it is not found", err)
	}
	use("late")
	d.Await("nothing brings it back", func(p daemon.Pods) bool { return strings.Contains(p["late"].GetReason(), "ImagePull") })
	d.Import("busybox")
	use("later")
	d.Await("imported again it runs", func(p daemon.Pods) bool { return p.Ready("later") })
}
