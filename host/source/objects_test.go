package source

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"nodal/node"
	"nodal/node/intake"
	"nodal/node/store"
)

func wordsYAML(name, value string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\ndata: {a: '%s'}\n", name, value)
}

// objects lists the ConfigMaps that remain, with their values.
func (r *rig) objects() string {
	var told []string
	all, _ := r.Intake.Store.Objects(node.ConfigMap)
	for _, o := range all {
		told = append(told, o.Meta().Name+"="+o.ConfigMap().Data["a"])
	}
	return strings.Join(told, " ")
}

func (r *rig) untilObjects(want string) {
	r.t.Helper()
	r.until("objects are "+want, func() bool { return r.objects() == want })
}

func TestObjectsOfADirectoryAreFollowed(t *testing.T) {
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	write(t, path("a-pod.yaml"), podYAML("web", "a:1"))
	write(t, path("b.yaml"), wordsYAML("b", "1"))
	write(t, path("c.json"), `{"apiVersion":"v1","kind":"List","items":[
		{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c"},"data":{"a":"1"}},
		{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"d"},"data":{"a":"1"}}]}`)
	r, file := newFile(t, dir)
	r.run(file.Run)
	r.untilObjects("b=1 c=1 d=1")
	r.untilPods("web-node-1=a:1")
	r.until("the source has delivered", r.ready)

	write(t, path("b.yaml"), wordsYAML("b", "2"))
	r.untilObjects("b=2 c=1 d=1")
	must(t, os.Rename(path("b.yaml"), path("moved.yaml")))
	r.until("the object belongs to its new file", func() bool {
		o, there := r.Intake.Store.Object(node.ObjectRef{Kind: node.ConfigMap, Namespace: "default", Name: "b"})
		return there && o.Origin == path("moved.yaml")
	})
	must(t, os.Remove(path("c.json")))
	r.untilObjects("b=2")
	r.until("the board is clear", func() bool { return len(r.errors()) == 0 })
}

// authority returns a certificate that may stand in a bundle.
func authority(t *testing.T) string {
	t.Helper()
	public, key, err := ed25519.GenerateKey(rand.Reader)
	must(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), IsCA: true, BasicConstraintsValid: true}
	made, err := x509.CreateCertificate(rand.Reader, template, template, public, key)
	must(t, err)
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: made}))
}

func TestEveryKindOfTheNodeMayStandInAFile(t *testing.T) {
	const pods = "template: {metadata: {labels: {app: x}}, spec: {restartPolicy: %s, containers: [{name: main, image: a}]}}"
	always := "spec: {selector: {matchLabels: {app: x}}, " + fmt.Sprintf(pods, "Always") + "}"
	more := map[node.ObjectKind]string{
		node.ReplicaSet:            always,
		node.Deployment:            always,
		node.DaemonSet:             always,
		node.StatefulSet:           always,
		node.CronJob:               "spec: {schedule: '@daily', jobTemplate: {spec: {" + fmt.Sprintf(pods, "Never") + "}}}",
		node.Job:                   "spec: {" + fmt.Sprintf(pods, "Never") + "}",
		node.Service:               "spec: {ports: [{port: 80}]}",
		node.EndpointSlice:         "addressType: IPv4\nendpoints: []",
		node.PersistentVolume:      "spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], hostPath: {path: /srv}}",
		node.PersistentVolumeClaim: "spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}, volumeName: x}",
		node.RuntimeClass:          "handler: runc",
		node.PriorityClass:         "value: 10",
		node.NetworkPolicy:         "spec: {podSelector: {}, policyTypes: [Ingress]}",
		node.CSIDriverObject:       "spec: {attachRequired: false}",
		node.ClusterTrustBundle:    fmt.Sprintf("spec: {trustBundle: %q}", authority(t)),
	}
	dir := t.TempDir()
	kinds := slices.DeleteFunc(node.Kinds(), func(k node.Kind) bool { return k.Name == node.ControllerRevision }) // the node's own
	for _, kind := range kinds {
		text := fmt.Sprintf("apiVersion: %s\nkind: %s\nmetadata: {name: x}\n%s\n", kind.Version, kind.Name, more[kind.Name])
		write(t, filepath.Join(dir, string(kind.Name)), text)
	}
	r, file := newFile(t, dir)
	watch := openWatch()
	defer watch.close()
	file.turn(watch, true)
	for _, kind := range kinds {
		all, _ := r.Intake.Store.Objects(kind.Name)
		if len(all) != 1 || all[0].Origin != filepath.Join(dir, string(kind.Name)) {
			t.Errorf("%s: got %d objects, want that of its file; errors: %q", kind.Name, len(all), r.errors())
		}
	}
}

func TestABrokenFileKeepsItsObjects(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "two.yaml")
	write(t, path, wordsYAML("a", "1")+"---\n"+wordsYAML("b", "1"))
	r, file := newFile(t, dir)
	r.run(file.Run)
	r.untilObjects("a=1 b=1")
	write(t, path, wordsYAML("a", "2")+"---\n"+strings.Replace(wordsYAML("b", "2"), "\ndata", "\ndota", 1))
	r.untilObjects("a=2 b=1")
	r.until("the board names the field", func() bool {
		return strings.Contains(r.errors()["two.yaml"], "document 2 (ConfigMap default/b): dota: unknown field")
	})
	write(t, path, "{")
	r.until("the board names the fault", func() bool { return !strings.Contains(r.errors()["two.yaml"], "dota") })
	if got, want := r.objects(), "a=2 b=1"; got != want {
		t.Errorf("objects = %s, want %s", got, want)
	}
	if got := r.reasons(); !slices.Contains(got, ReasonInvalid) {
		t.Errorf("events = %q, want %s among them", got, ReasonInvalid)
	}
	write(t, path, wordsYAML("a", "3"))
	r.untilObjects("a=3")
}

func TestAClaimOutlivesItsFileForAWhile(t *testing.T) {
	const claim = "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data}\nspec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}\n"
	text := claim + "---\n" + wordsYAML("a", "1")
	dir := t.TempDir()
	path := filepath.Join(dir, "both.yaml")
	stays := func(r *rig) bool {
		o, there := r.Intake.Store.Object(node.ObjectRef{Kind: node.PersistentVolumeClaim, Namespace: "default", Name: "data"})
		return there && o.Meta().DeletionTimestamp == nil
	}
	write(t, path, text)
	r, file := newFile(t, dir)
	r.run(file.Run)
	r.untilObjects("a=1")
	must(t, os.Remove(path))
	r.untilObjects("")
	r.until("the board says when the claim goes", func() bool { return strings.Contains(r.errors()["both.yaml"], "goes with its data at") })
	if !stays(r) {
		t.Error("the claim is deleted at once")
	}
	write(t, path, text)
	r.untilObjects("a=1")
	r.until("the board is clear", func() bool { return len(r.errors()) == 0 })
	if !stays(r) {
		t.Error("the claim is deleted though its file is back")
	}
}

// A source that was away for long, and lacks a claim for a moment when it is back, was not without it all the time.
func TestAClaimStaysAnewAfterItsSourceWasAway(t *testing.T) {
	const claim = "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data}\nspec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}\n"
	r := newRig(t, node.SourceURL)
	p := publisher{Sink: r.patient(node.SourceURL), location: "https://a"}
	start := time.Now()
	deliver := func(text string, after time.Duration) {
		t.Helper()
		p.deliver(collect(p.read("https://a", []byte(text), start)), start.Add(after))
		o, there := r.Intake.Store.Object(node.ObjectRef{Kind: node.PersistentVolumeClaim, Namespace: "default", Name: "data"})
		if !there || o.Meta().DeletionTimestamp != nil {
			t.Fatalf("after %s the claim goes", after)
		}
	}
	deliver(claim+"---\n"+wordsYAML("a", "1"), 0)
	deliver(wordsYAML("a", "1"), time.Second)
	p.fail(cannotRead(errors.New("it is down")), start.Add(2*time.Second))
	deliver(wordsYAML("a", "1"), 2*intake.ClaimsStay)
}

func TestTwoFilesThatNameOneObject(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "b.yaml"), wordsYAML("a", "b"))
	write(t, filepath.Join(dir, "c.yaml"), wordsYAML("a", "c"))
	r, file := newFile(t, dir)
	r.run(file.Run)
	r.until("the board shows the conflict", func() bool {
		return strings.Contains(r.errors()["c.yaml"], "ConfigMap default/a is delivered by "+filepath.Join(dir, "b.yaml")+" already")
	})
	if got, want := r.objects(), "a=b"; got != want {
		t.Errorf("objects = %s, want %s", got, want)
	}
	must(t, os.Remove(filepath.Join(dir, "b.yaml")))
	r.untilObjects("a=c")
}

// before is a node on which an agent has taken the objects of two files, and the source of the next agent.
func before(t *testing.T, dir string) (*rig, *File, *watch) {
	t.Helper()
	must(t, os.MkdirAll(dir, 0o700))
	for _, name := range []string{"a", "b"} {
		write(t, filepath.Join(dir, name+".yaml"), wordsYAML(name, "1"))
		age(t, filepath.Join(dir, name+".yaml"))
	}
	r, first := newFile(t, dir)
	watch := openWatch()
	t.Cleanup(watch.close)
	first.turn(watch, true)
	if got, want := r.objects(), "a=1 b=1"; got != want {
		t.Fatalf("objects = %s, want %s", got, want)
	}
	r.Board = store.NewSources(map[node.Source]string{r.source: "somewhere"})
	return r, NewFile(FileConfig{Path: dir, Sink: r.Sink}), watch
}

func TestWhatIsGoneAtTheStartIsPruned(t *testing.T) {
	dir := t.TempDir()
	r, next, watch := before(t, dir)
	must(t, os.Remove(filepath.Join(dir, "a.yaml")))
	next.turn(watch, true)
	if got, want := r.objects(), "a=1 b=1"; got != want {
		t.Errorf("objects = %s, want %s for a moment", got, want)
	}
	next.goneForLong(filepath.Join(dir, "a.yaml"))
	next.turn(watch, false)
	if got, want := r.objects(), "b=1"; got != want || len(r.errors()) > 0 {
		t.Errorf("objects = %s, errors = %q; want %s, none", got, r.errors(), want)
	}
}

func TestADirectoryThatIsAwayPrunesNothing(t *testing.T) {
	t.Run("at the start", func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "pods")
		r, next, watch := before(t, dir)
		must(t, os.RemoveAll(dir))
		for range 2 {
			next.turn(watch, true)
			if got, want := r.objects(), "a=1 b=1"; got != want || !r.ready() {
				t.Errorf("objects = %s, delivered: %t; want %s, delivered", got, r.ready(), want)
			}
		}
	})
	t.Run("later", func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "pods")
		r, next, watch := before(t, dir)
		next.turn(watch, true)
		must(t, os.RemoveAll(dir))
		next.turn(watch, true)
		if got, want := r.objects(), "a=1 b=1"; got != want || r.errors()["pods"] == "" {
			t.Errorf("objects = %s, errors = %q; want %s, and the directory's", got, r.errors(), want)
		}
	})
}

// An object that cannot be read for now may be one of a file that is gone: the source looks again.
func TestALockedObjectIsPrunedOnceItOpens(t *testing.T) {
	dir := t.TempDir()
	r, file := newFile(t, dir)
	watch := openWatch()
	defer watch.close()
	record := store.Record{
		Name: "objects/Secret/default_keys",
		Data: fmt.Appendf(nil, `{"Version":1,"Secret":{"metadata":{"name":"keys","namespace":"default"}},"Source":"file","Origin":%q}`, filepath.Join(dir, "keys.yaml")),
	}
	r.Intake.Store.Lock([]store.Locked{{Name: record.Name, Err: node.ErrNotReady}})
	file.turn(watch, true)
	if problems := r.Intake.Store.Restore([]store.Record{record}); len(problems) > 0 {
		t.Fatal(problems)
	}
	file.turn(watch, true)
	if left, _ := r.Intake.Store.Objects(node.Secret); len(left) > 0 {
		t.Errorf("%s is there, want it pruned", left[0].Ref())
	}
}

func TestObjectsOfAURL(t *testing.T) {
	web := newSite(t, text(podYAML("web", "a:1")+"---\n"+wordsYAML("a", "1")))
	r, url := newURL(t, URLConfig{URL: web.URL + "/pods"})
	r.run(url.Run)
	r.untilObjects("a=1")
	r.untilPods("web-node-1=a:1")
	web.serve(status(http.StatusInternalServerError))
	r.until("the board shows the error", func() bool { return len(r.errors()) > 0 })
	if got, want := r.objects(), "a=1"; got != want {
		t.Errorf("objects = %s, want %s", got, want)
	}
	web.serve(text(podYAML("web", "a:1")))
	r.untilObjects("")
}

// For a moment the old name counts as there, and both files have the object and the pod.
func TestARenamedFileIsNoConflict(t *testing.T) {
	dir := t.TempDir()
	from, to := filepath.Join(dir, "b.yaml"), filepath.Join(dir, "a.yaml")
	write(t, from, wordsYAML("a", "1")+"---\n"+podYAML("web", "a:1"))
	age(t, from)
	r, file := newFile(t, dir)
	watch := openWatch()
	defer watch.close()
	file.turn(watch, true)
	must(t, os.Rename(from, to))
	file.turn(watch, false)
	if got, errors := r.reasons(), r.errors(); len(got)+len(errors) > 0 {
		t.Errorf("while the old name counts: events = %q, errors = %q; want none", got, errors)
	}
	// A conflict that stays is told at the next poll.
	write(t, from, wordsYAML("a", "2"))
	age(t, from)
	file.turn(watch, false)
	file.turn(watch, true)
	if got := r.errors()["a.yaml"]; !strings.Contains(got, "ConfigMap default/a is delivered by "+from+" already") {
		t.Errorf("with both files the errors are %q, want the conflict", r.errors())
	}
	must(t, os.Remove(from))
	file.turn(watch, false)
	file.goneForLong(from)
	file.turn(watch, false)
	if got, want := r.objects()+", "+r.pods(), "a=1, web-node-1=a:1"; got != want || len(r.errors()) > 0 {
		t.Errorf("with the new name there are %s, errors %q; want %s, none", got, r.errors(), want)
	}
}
