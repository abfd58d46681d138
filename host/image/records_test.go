package image

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	policies "k8s.io/kubelet/config/v1beta1"

	"nodal/node"
)

// verifier is a puller on a machine where the registry lets one user in.
type verifier struct {
	*testing.T
	machine *machine
	posted  secrets
	config  Config
	tried   []string
}

func newVerifier(t *testing.T, policy policies.ImagePullCredentialsVerificationPolicy, user string) *verifier {
	v := &verifier{T: t, machine: newMachine(), posted: secrets{"me": login("me"), "other": login("other")}}
	v.posted["again"] = login("me") // the same credentials in another secret
	v.machine.pull = lets(user, &v.tried)
	v.config = Config{
		Runtime: v.machine, Object: v.posted.object, Log: slog.New(slog.DiscardHandler), Tell: (&owner{}).tell,
		Verify: Verification{Policy: policy, Allow: []string{"registry.example/base/*", private[:len(private)-2]}, Dir: t.TempDir()},
	}
	return v
}

// wantPulls has a pod of a puller that has just started use the image.
func (v *verifier) wantPulls(policy corev1.PullPolicy, secrets string, reason string, pulls int) {
	v.Helper()
	before := v.machine.pulled()
	_, err := New(v.config).Ensure(v.Context(), podWith("uid of "+secrets, strings.Fields(secrets)...), need(private, policy))
	got := ""
	var failure *node.Failure
	if errors.As(err, &failure) {
		got = failure.Reason
	}
	if n := v.machine.pulled() - before; got != reason || n != pulls {
		v.Errorf("with secrets %q: got %q after %d pulls (%v), want %q after %d", secrets, got, n, err, reason, pulls)
	}
}

func TestAnImagePulledWithASecretNeedsThatSecret(t *testing.T) {
	v := newVerifier(t, policies.NeverVerifyPreloadedImages, "me")
	v.wantPulls(corev1.PullIfNotPresent, "me", "", 1)
	v.wantPulls(corev1.PullIfNotPresent, "me", "", 0)
	v.wantPulls(corev1.PullIfNotPresent, "again", "", 0)
	v.wantPulls(corev1.PullIfNotPresent, "", node.ErrImagePull, 1)
	v.wantPulls(corev1.PullIfNotPresent, "other", node.ErrImagePull, 1)
	v.wantPulls(corev1.PullIfNotPresent, "other me", "", 0)
	v.wantPulls(corev1.PullNever, "other", node.ErrImageNeverPull, 0)
	v.wantPulls(corev1.PullNever, "me", "", 0)

	v.config.Verify.Policy = policies.NeverVerify
	v.wantPulls(corev1.PullIfNotPresent, "other", "", 0)

	v.config.Verify.Policy = policies.NeverVerifyPreloadedImages
	if err := New(v.config).Removed("id of " + private); err != nil {
		t.Fatal(err)
	}
	v.wantPulls(corev1.PullIfNotPresent, "other", "", 0) // it is there again, from elsewhere
}

func TestAnImagePulledAsAnybodyIsForAll(t *testing.T) {
	v := newVerifier(t, policies.AlwaysVerify, "anybody")
	v.wantPulls(corev1.PullIfNotPresent, "", "", 1)
	v.wantPulls(corev1.PullIfNotPresent, "other", "", 0)
}

func TestImagesFromElsewhere(t *testing.T) {
	for policy, pulls := range map[policies.ImagePullCredentialsVerificationPolicy]int{
		policies.NeverVerify: 0, policies.NeverVerifyPreloadedImages: 0, policies.NeverVerifyAllowlistedImages: 0, policies.AlwaysVerify: 1,
	} {
		v := newVerifier(t, policy, "anybody")
		v.machine.local[private] = testImage(private)
		v.wantPulls(corev1.PullIfNotPresent, "", "", pulls)
	}
	r := &records{Verification: Verification{Policy: policies.NeverVerifyAllowlistedImages, Allow: []string{"registry.example/base/*", "registry.example/app"}}}
	for name, want := range map[string]bool{
		"registry.example/app": true, "registry.example/app2": false, "registry.example/base/a/b": true, "registry.example/base": false, "registry.example/other": false,
	} {
		if got := r.preloadedFree(name); got != want {
			t.Errorf("%s: got %t, want %t", name, got, want)
		}
	}
}

func TestACrashDuringAPullOpensNothing(t *testing.T) {
	v := newVerifier(t, policies.NeverVerifyPreloadedImages, "me")
	if err := New(v.config).records.intend(private); err != nil {
		t.Fatal(err)
	}
	v.machine.local[private] = testImage(private)
	v.wantPulls(corev1.PullIfNotPresent, "other", node.ErrImagePull, 1)
	v.wantPulls(corev1.PullIfNotPresent, "me", "", 1)
}

func TestAPullThatCannotBeNotedIsNoneUnderWay(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "image_manager")
	if err := os.WriteFile(dir, nil, 0o600); err != nil { // where the directory belongs
		t.Fatal(err)
	}
	r := &records{Verification: Verification{Policy: policies.AlwaysVerify, Dir: dir}, pulling: map[string]*intent{}}
	if err := r.intend(private); err == nil {
		t.Fatal("a pull was noted where nothing can be written")
	}
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	if err := r.intend(private); err != nil {
		t.Fatal(err)
	}
	if err := r.over(private, pullEnd{outcome: failed}); err != nil {
		t.Fatal(err)
	}
	if len(r.pulling) > 0 || r.intended(private) {
		t.Errorf("the only pull is over, but %d are noted, on the disk: %t", len(r.pulling), r.intended(private))
	}
}

func TestRecordsHoldNoCredential(t *testing.T) {
	v := newVerifier(t, policies.AlwaysVerify, "me")
	v.wantPulls(corev1.PullIfNotPresent, "me", "", 1)
	files, err := filepath.Glob(filepath.Join(v.config.Verify.Dir, "*", "*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("got %q, %v, want one record", files, err)
	}
	data, err := os.ReadFile(files[0])
	if err != nil || strings.Contains(string(data), "hunter2") || !strings.Contains(string(data), `"credentialMapping":{"registry.example/app"`) {
		t.Errorf("got %s, %v, want a record without password", data, err)
	}
	if err := os.WriteFile(files[0], []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	v.wantPulls(corev1.PullIfNotPresent, "other", node.ErrImagePull, 1)
	v.wantPulls(corev1.PullIfNotPresent, "me", "", 1) // and mends the record
	v.wantPulls(corev1.PullIfNotPresent, "me", "", 0)
}
