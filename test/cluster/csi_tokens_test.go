package cluster

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"

	"nodal/test/claim"
)

// tokensIn returns the tokens that a line of the driver tells of, after some words.
func (d *disks) tokensIn(line, words string) (tokens map[string]authenticationv1.TokenRequestStatus) {
	d.t.Helper()
	_, text, found := strings.Cut(line, words+"csi.storage.k8s.io/serviceAccount.tokens=")
	if !found {
		d.t.Fatalf("the driver has heard %q, want tokens after %q", line, words)
	}
	text, _, _ = strings.Cut(text, " ")
	must(d.t, json.Unmarshal([]byte(text), &tokens))
	return tokens
}

// boundPod returns the UID of the pod to which a token is bound, and its audience.
func (d *disks) boundPod(token string) (uid string, audience []string) {
	d.t.Helper()
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		d.t.Fatalf("a token has %d parts", len(parts))
	}
	text, err := base64.RawURLEncoding.DecodeString(parts[1])
	must(d.t, err)
	var content struct {
		Aud        []string
		Kubernetes struct{ Pod struct{ UID string } } `json:"kubernetes.io"`
	}
	must(d.t, json.Unmarshal(text, &content))
	return content.Kubernetes.Pod.UID, content.Aud
}

func TestDriversGetTokensOfPods(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "CSI",
		"in a cluster a driver whose CSIDriver object has tokenRequests gets tokens that are bound to the pod, in the attributes or among the Secrets, and again with requiresRepublish",
		"a token for a driver is in no log of the node",
	)
	w, d := newDisks(t, "STAGE_UNSTAGE_VOLUME")
	must(t, w.StartControllers("--controllers=persistentvolume-binder-controller"))
	d.begin()
	w.create(driversPath, driverObject("attachRequired: false, volumeLifecycleModes: [Persistent, Ephemeral], requiresRepublish: true, "+
		"tokenRequests: [{audience: vault, expirationSeconds: 600}, {audience: other}]"))
	w.disk("near", "")
	w.create(podsPath, holding("claims", "near"))
	w.create(podsPath, manifest("own", "  volumes: [{name: disk, csi: {driver: "+diskDriver+"}}]\n  containers:\n"+
		"  - {name: main, image: \"nodal.test/busybox:1\", command: [sh, -c, \"exec sleep 1000\"], volumeMounts: [{name: disk, mountPath: /disk}]}\n"))
	claims, own := w.await("claims", "ready", ready), w.await("own", "ready", ready)
	handle := fmt.Sprintf("csi-%x", sha256.Sum256([]byte(string(own.UID)+"disk")))
	var given []string
	for asked, pod := range map[string]*corev1.Pod{"NodePublishVolume vol-near": claims, "NodePublishVolume " + handle: own} {
		lines := d.heard(asked)
		if len(lines) != 1 {
			t.Fatalf("the driver has heard %q, want %s once", lines, asked)
		}
		tokens := d.tokensIn(lines[0], " ")
		for _, audience := range []string{"vault", "other"} {
			uid, audiences := d.boundPod(tokens[audience].Token)
			if len(audiences) != 1 || audiences[0] != audience || uid != string(pod.UID) || time.Until(tokens[audience].ExpirationTimestamp.Time) <= 0 {
				t.Errorf("the token of pod %s is bound to %s, for %q until %s", pod.Name, uid, audiences, tokens[audience].ExpirationTimestamp)
			}
			given = append(given, tokens[audience].Token)
		}
		if len(tokens) != 2 {
			t.Errorf("the driver gets %d tokens of pod %s", len(tokens), pod.Name)
		}
	}

	w.ask("PATCH", driversPath+"/"+diskDriver, "application/merge-patch+json", `{"spec": {"serviceAccountTokenInSecrets": true, "tokenRequests": [{"audience": "vault", "expirationSeconds": 600}]}}`)
	w.node.Kill()
	long := time.Now().Add(-time.Hour)
	must(t, os.Chtimes(filepath.Join(w.node.Dir, "pods", string(own.UID), "volumes/kubernetes.io~csi/disk/vol_data.json"), long, long))
	w.node.Launch()
	w.eventually("a token among the Secrets", func() bool {
		lines := d.heard("NodePublishVolume " + handle)
		return strings.Contains(lines[len(lines)-1], " secret:")
	})
	lines := d.heard("NodePublishVolume " + handle)
	tokens := d.tokensIn(lines[len(lines)-1], " secret:")
	if uid, _ := d.boundPod(tokens["vault"].Token); uid != string(own.UID) || len(tokens) != 1 {
		t.Errorf("the driver gets %d tokens, of pod %s", len(tokens), uid)
	}
	for _, token := range append(given, tokens["vault"].Token) {
		if w.node.LogOf(token) != "" {
			t.Error("a token is in the log")
		}
	}
	for _, name := range []string{"claims", "own"} {
		w.ask("DELETE", podsPath+"/"+name, "", "")
		w.awaitGone(name)
	}
	w.eventually("nothing to be left", func() bool { return !strings.Contains(w.shelf(), "Secret") && w.driverObjects() == 0 })
}
