package member

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/node"
)

const inUseName = corev1.UniqueVolumeName("kubernetes.io/csi/disk^v")

func TestAVolumeIsInUseFromBeforeAPodHasItUntilNothingIsLeftOfIt(t *testing.T) {
	const a, b = corev1.UniqueVolumeName("kubernetes.io/csi/d^a"), corev1.UniqueVolumeName("kubernetes.io/csi/d^b")
	held := func(handles ...string) (all []*nodev1.CSIVolume) {
		for _, h := range handles {
			all = append(all, &nodev1.CSIVolume{Driver: "d", Handle: h})
		}
		return all
	}
	type names = []corev1.UniqueVolumeName
	for _, c := range []struct {
		name           string
		listed, wanted names
		held           []*nodev1.CSIVolume
		want           names
	}{
		{"none", nil, nil, nil, names{}},
		{"one that a pod is to get", nil, names{a}, nil, names{a}},
		{"one that it has", names{a}, names{a}, held("a"), names{a}},
		{"one of which something is left", names{a}, nil, held("a"), names{a}},
		{"one of which nothing is left", names{a}, nil, nil, names{}},
		{"one that need not be attached", nil, nil, held("a"), names{}},
		{"several, in order and once", names{b}, names{b, a, a}, held("b"), names{a, b}},
	} {
		if got := inUse(c.listed, c.wanted, c.held); !slices.Equal(got, c.want) || got == nil {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

func TestTheClusterIsToldOnceWhichVolumesAreInUse(t *testing.T) {
	b := &book{t: t}
	b.node.TypeMeta, b.node.Name = metav1.TypeMeta{APIVersion: "v1", Kind: "Node"}, "n"
	b.node.Status.VolumesInUse = []corev1.UniqueVolumeName{inUseName, "of-another-kubelet"}
	a := newAttachments("n", apiServer(b.answer).dial(t))
	for _, c := range []struct {
		name   string
		wanted []corev1.UniqueVolumeName
		held   []*nodev1.CSIVolume
		again  bool
		before func()
		want   string
		writes int
	}{
		{"what a former process has listed stays", nil, []*nodev1.CSIVolume{{Driver: "disk", Handle: "v"}}, true, nil, "kubernetes.io/csi/disk^v", 1},
		{"without news nothing is written", nil, []*nodev1.CSIVolume{{Driver: "disk", Handle: "v"}}, false, nil, "kubernetes.io/csi/disk^v", 1},
		{"another volume", []corev1.UniqueVolumeName{"w"}, []*nodev1.CSIVolume{{Driver: "disk", Handle: "v"}}, false, nil, "kubernetes.io/csi/disk^v w", 2},
		{
			"another Node object lists them again", []corev1.UniqueVolumeName{"w"}, []*nodev1.CSIVolume{{Driver: "disk", Handle: "v"}}, true,
			func() { b.node.Status.VolumesInUse = nil }, "kubernetes.io/csi/disk^v w", 3,
		},
		{"none is left", nil, nil, false, nil, "", 4},
	} {
		if c.before != nil {
			c.before()
		}
		err := a.report(t.Context(), c.wanted, c.held, c.again)
		var names []string
		for _, name := range b.node.Status.VolumesInUse {
			names = append(names, string(name))
		}
		if got := strings.Join(names, " "); err != nil || got != c.want || b.writes != c.writes {
			t.Errorf("%s: the cluster lists %q after %d writes, %v; want %q after %d", c.name, got, b.writes, err, c.want, c.writes)
		}
	}
}

// controlled stands for a cluster that has a node, a volume of a driver, and perhaps its VolumeAttachment.
type controlled struct {
	node       corev1.Node
	driver     *storagev1.CSIDriver
	attachment *storagev1.VolumeAttachment
	asked      []string
}

func (c *controlled) answer(r *http.Request) (int, any, error) {
	missing := refused(http.StatusNotFound, metav1.StatusReasonNotFound)
	missing.Message = "it is not there"
	switch path := r.URL.Path; {
	case strings.Contains(path, "/csidrivers/") && c.driver != nil:
		return http.StatusOK, c.driver, nil
	case strings.Contains(path, "/volumeattachments/"):
		c.asked = append(c.asked, path)
		if c.attachment != nil {
			return http.StatusOK, c.attachment, nil
		}
	case strings.Contains(path, "/nodes/"):
		return http.StatusOK, &c.node, nil
	}
	return http.StatusNotFound, missing, nil
}

func TestAVolumeWaitsUntilTheClusterHasAttachedIt(t *testing.T) {
	attached := func(change func(*storagev1.VolumeAttachment)) func(*controlled) {
		return func(c *controlled) {
			c.attachment = &storagev1.VolumeAttachment{TypeMeta: metav1.TypeMeta{APIVersion: "storage.k8s.io/v1", Kind: "VolumeAttachment"}}
			c.attachment.Spec.Attacher = "disk"
			c.attachment.Status = storagev1.VolumeAttachmentStatus{Attached: true, AttachmentMetadata: map[string]string{"device": "xvdq"}}
			change(c.attachment)
		}
	}
	fine := attached(func(*storagev1.VolumeAttachment) {})
	const begin = `MountVolume.WaitForAttach failed for volume "pv" : `
	for _, c := range []struct {
		name  string
		is    func(*controlled)
		waits string
		mark  string
	}{
		{"attached", fine, "", `{"device":"xvdq"}`},
		{"attached, with nothing to tell", attached(func(a *storagev1.VolumeAttachment) { a.Status.AttachmentMetadata = nil }), "", "{}"},
		{"not listed as in use", func(c *controlled) { fine(c); c.node.Status.VolumesInUse = nil }, "volume has not been added to the list of VolumesInUse in the node's volume status", ""},
		{"about to be detached", func(c *controlled) { fine(c); c.node.Status.VolumesAttached = nil }, "volume not attached according to node status", ""},
		{"not asked for", func(*controlled) {}, "read VolumeAttachment csi-b94a8d90fc24ee7ca1f9aa519e7385a2b251257cf5683126048b0a5dcaea984c: it is not there", ""},
		{"being attached", attached(func(a *storagev1.VolumeAttachment) { a.Status.Attached = false }), "waiting for external-attacher of disk to attach it", ""},
		{
			"not to be attached", attached(func(a *storagev1.VolumeAttachment) {
				a.Status = storagev1.VolumeAttachmentStatus{AttachError: &storagev1.VolumeError{Message: "no such disk"}}
			}), "no such disk", "",
		},
		{"being detached", attached(func(a *storagev1.VolumeAttachment) { a.DeletionTimestamp = &metav1.Time{Time: time.Now()} }), "volume attachment is being deleted", ""},
		{
			"of a driver that need not attach", func(c *controlled) {
				c.driver = &storagev1.CSIDriver{TypeMeta: metav1.TypeMeta{APIVersion: "storage.k8s.io/v1", Kind: "CSIDriver"}}
				c.driver.Spec.AttachRequired = new(false)
			}, "", "{}",
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			server := &controlled{}
			server.node.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Node"}
			server.node.Status.VolumesInUse = []corev1.UniqueVolumeName{inUseName}
			server.node.Status.VolumesAttached = []corev1.AttachedVolume{{Name: inUseName}}
			c.is(server)
			api := apiServer(server.answer).dial(t)
			claim := node.ObjectRef{Kind: node.PersistentVolumeClaim, Namespace: "default", Name: "data"}
			o := &objects{
				cluster: api, attachments: newAttachments("n", api), log: slog.New(slog.DiscardHandler),
				used: map[node.ObjectRef]*usage{claim: {}}, ready: func(types.NamespacedName) {},
			}
			v := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv", Annotations: map[string]string{
				node.AnnotationAttached: "forged",
			}}}
			v.Spec.CSI = &corev1.CSIPersistentVolumeSource{Driver: "disk", VolumeHandle: "v"}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			err := o.attach(ctx, claim, &attachment{}, v)
			if waits := errors.Is(err, context.DeadlineExceeded); waits != (c.waits != "") || v.Annotations[node.AnnotationAttached] != c.mark {
				t.Errorf("%s: got %v, with mark %q", c.name, err, v.Annotations[node.AnnotationAttached])
			}
			if wrong := o.used[claim].wrong; c.waits != "" && (wrong == nil || wrong.Error() != begin+c.waits) {
				t.Errorf("%s: its pods wait for %v, want %s", c.name, wrong, begin+c.waits)
			}
			if got := len(o.attachments.names()) > 0; got == (server.driver != nil) {
				t.Errorf("%s: it is to be listed as in use: %t", c.name, got)
			}
		})
	}
}
