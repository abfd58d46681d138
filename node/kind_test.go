package node

import (
	"encoding/json"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestEveryKindOfTheTableIsComplete(t *testing.T) {
	records := map[string]bool{}
	for _, kind := range Kinds() {
		value := kind.New()
		if kind.Name == "" || kind.Version == "" || kind.Record == "" || kind.Plural != strings.ToLower(kind.Plural) {
			t.Errorf("%+v lacks something", kind)
		}
		if got := NewObject(value).Kind; got != kind.Name {
			t.Errorf("a %T is of kind %q, want %q", value, got, kind.Name)
		}
		for _, name := range []string{string(kind.Name), strings.ToLower(string(kind.Name)), kind.Plural} {
			if found, _ := KindNamed(name); found.Name != kind.Name {
				t.Errorf("%q is %q, want %q", name, found.Name, kind.Name)
			}
		}
		if records[kind.Record] {
			t.Errorf("two kinds are recorded as %s", kind.Record)
		}
		records[kind.Record] = true
	}
}

func TestAValueOfNoKindMakesAnObjectThatCannotBeRecorded(t *testing.T) {
	object := NewObject(&corev1.Event{})
	if _, err := json.Marshal(object); object.Kind != "" || err == nil {
		t.Errorf("got kind %q, %v, want none and an error", object.Kind, err)
	}
}

// An older agent's records have this shape, and so has to find them again a newer one.
func TestRecordsNameTheValueAfterItsKind(t *testing.T) {
	for _, kind := range Kinds() {
		value := kind.New()
		value.SetName("one")
		data, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		want := `{"` + kind.Record + `":` + string(data) + `}`
		if got, err := json.Marshal(NewObject(value)); err != nil || string(got) != want {
			t.Errorf("got %s, %v, want %s", got, err, want)
		}
		read := &Object{}
		if err := json.Unmarshal([]byte(want), read); err != nil || read.Kind != kind.Name || read.Ref().Name != "one" {
			t.Errorf("%s reads as %+v, %v", want, read, err)
		}
	}
}

func TestARecordOfNoneOrOfTwoObjectsIsRefused(t *testing.T) {
	for _, record := range []string{`{}`, `{"Pod":{}}`, `{"ConfigMap":null}`, `{"ConfigMap":{},"Secret":{}}`, `{"ConfigMap":[]}`, `[]`} {
		if err := json.Unmarshal([]byte(record), &Object{}); err == nil {
			t.Errorf("%s was read", record)
		}
	}
	if err := json.Unmarshal([]byte(`{"ConfigMap":{},"Secret":null,"Other":{}}`), &Object{}); err != nil {
		t.Errorf("a record with more than an older agent knows: %v", err)
	}
}

// The managed fields of a Secret name its keys.
func TestWhatIsHiddenOfASecret(t *testing.T) {
	kind, _ := KindNamed("secrets")
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Name: "door", Labels: map[string]string{"a": "b"},
			ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "alice", FieldsV1: metav1.NewFieldsV1(`{"f:data":{"f:key":{}}}`)}},
		},
		Data: map[string][]byte{"key": []byte("sesame")},
	}
	kind.Hide(secret)
	if text, err := json.Marshal(secret); err != nil || strings.Contains(string(text), "key") || secret.Labels["a"] != "b" {
		t.Errorf("got %s, %v", text, err)
	}
}
