package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	strictjson "sigs.k8s.io/json"

	"nodal/node"
	"nodal/node/surplus"
)

// Version is that of the records which this agent writes. A field may be added without a new
// one if an agent that does not know it may leave it alone. A change that such an agent has
// to heed raises it: docs/decisions/0026-records-are-a-contract.md.
const Version = 1

// ErrNewer reports a record whose version is greater than Version.
var ErrNewer = errors.New("a newer agent wrote it")

const (
	podRecords    = "pods/"
	objectRecords = "objects/"
)

// SecretRecords is the prefix of records that must not be readable on the disk.
const SecretRecords = objectRecords + string(node.Secret) + "/"

// slotRecord is the journal's form of a pod.
type slotRecord struct {
	Version int `json:"Version"`
	*node.Slot
}

// objectShape returns the type of an object's record: it has a field for each kind, of which one is
// set, and says where the object comes from.
func objectShape() reflect.Type {
	fields := []reflect.StructField{
		{Name: "Version", Type: reflect.TypeFor[int](), Tag: `json:"Version"`},
		{Name: "Source", Type: reflect.TypeFor[node.Source](), Tag: `json:"Source"`},
		{Name: "Origin", Type: reflect.TypeFor[string](), Tag: `json:"Origin"`},
	}
	for _, kind := range node.Kinds() {
		tag := reflect.StructTag(fmt.Sprintf("json:%q", kind.Record))
		fields = append(fields, reflect.StructField{Name: kind.Record, Type: reflect.TypeOf(kind.New()), Tag: tag})
	}
	return reflect.StructOf(fields)
}

// reader reads records, many in a row.
type reader struct {
	beyond *surplus.Finder
	shape  reflect.Type // of objects' records
}

func slotName(key node.Key) string { return podRecords + key.Namespace + "_" + key.Name }

func objectName(ref node.ObjectRef) string {
	return objectRecords + string(ref.Kind) + "/" + ref.Namespace + "_" + ref.Name
}

// Restore fills an empty store from the journal's records. A record that does not decode
// costs its own pod only. One of a newer agent is shown as far as it is understood, and
// neither its pod nor the record is touched.
func (s *Store) Restore(records []Record) []error {
	var problems []error
	reader := reader{surplus.NewFinder(), objectShape()}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range records {
		var err error
		switch {
		case strings.HasPrefix(r.Name, objectRecords):
			err = s.restoreObject(reader, r)
		case strings.HasPrefix(r.Name, podRecords):
			err = s.restoreSlot(reader, r)
		}
		if err != nil {
			problems = append(problems, fmt.Errorf("decode record %s: %w", r.Name, err))
		}
	}
	return problems
}

func (s *Store) restoreSlot(read reader, r Record) error {
	newer := s.withhold(r)
	slot, err := read.slot(r)
	if err != nil {
		return errors.Join(newer, err)
	}
	slot.Newer = newer != nil
	s.publish(View{Key: slot.Pod.Key(), Slot: slot, Got: &node.Observed{}})
	return newer
}

func (s *Store) restoreObject(read reader, r Record) error {
	newer := s.withhold(r)
	object, err := read.object(r)
	if err != nil {
		return errors.Join(newer, err)
	}
	s.publishObject(object.Ref(), object)
	return newer
}

// withhold keeps a record of a newer version from being written.
func (s *Store) withhold(r Record) error {
	var head struct{ Version int }
	if json.Unmarshal(r.Data, &head) != nil || head.Version <= Version {
		return nil // the caller reports a record that does not decode
	}
	s.withheld[r.Name] = newer(head.Version)
	return s.withheld[r.Name]
}

func newer(version int) error {
	return fmt.Errorf("%w: it has version %d, this agent reads %d; it is left alone until such an agent runs again",
		ErrNewer, version, Version)
}

// slot reads what encodeSlot has written. A record under another pod's name
// would not be found again.
func (read reader) slot(r Record) (*node.Slot, error) {
	record := slotRecord{Slot: &node.Slot{}}
	over, err := read.decode(r.Data, &record)
	if err != nil {
		return nil, err
	}
	slot := record.Slot
	switch {
	case slot.Pod == nil || slot.Pod.Object == nil:
		return nil, errors.New("it names no pod")
	case slot.Next != nil && slot.Next.Object == nil:
		return nil, errors.New("the pod that waits has no manifest")
	case slotName(slot.Pod.Key()) != r.Name:
		return nil, fmt.Errorf("it holds pod %s", slot.Pod.Key())
	}
	slot.Surplus = over.Without("Pod", "Next")
	slot.Pod.Surplus = over.Below("Pod")
	if slot.Next != nil {
		slot.Next.Surplus = over.Below("Next")
	}
	return slot, nil
}

func encodeSlot(slot *node.Slot) ([]byte, error) {
	over := slot.Surplus.With("Pod", slot.Pod.Surplus)
	if slot.Next != nil {
		over = over.With("Next", slot.Next.Surplus)
	}
	data, err := json.Marshal(slotRecord{Version, slot})
	if err != nil {
		return nil, err
	}
	return over.AddTo(data)
}

func (read reader) object(r Record) (*node.Object, error) {
	object := &node.Object{}
	if err := json.Unmarshal(r.Data, object); err != nil {
		return nil, err
	}
	if objectName(object.Ref()) != r.Name {
		return nil, fmt.Errorf("it holds %s", object.Ref())
	}
	over, err := read.decode(r.Data, reflect.New(read.shape).Interface())
	object.Surplus = over
	return object, err
}

// decode decodes a record, and finds what it says beyond that. Few records say anything, so
// the search begins only where the decoder stumbles.
func (read reader) decode(data []byte, into any) (*surplus.Tree, error) {
	unknown, err := strictjson.UnmarshalStrict(data, into)
	if err != nil || len(unknown) == 0 {
		return nil, err
	}
	return read.beyond.Of(data, reflect.TypeOf(into))
}

func encodeObject(object *node.Object) ([]byte, error) {
	if err := object.Readable(); err != nil {
		return nil, err // its data would be gone
	}
	data, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	record := map[string]json.RawMessage{"Version": json.RawMessage(strconv.Itoa(Version))}
	if err := json.Unmarshal(data, &record); err != nil {
		return nil, err
	}
	if data, err = json.Marshal(record); err != nil {
		return nil, err
	}
	return object.Surplus.AddTo(data)
}

// records returns the journal's records of a transaction.
func (tx *Tx) records() ([]Record, error) {
	records := make([]Record, 0, len(tx.keys)+len(tx.refs))
	for _, ref := range tx.refs {
		record := Record{Name: objectName(ref)}
		if object := tx.objects[ref]; object != nil {
			data, err := encodeObject(object)
			if err != nil {
				return nil, fmt.Errorf("encode record of %s: %w", ref, err)
			}
			record.Data = data
		}
		records = append(records, record)
	}
	for _, key := range tx.keys {
		record := Record{Name: slotName(key)}
		if slot := tx.writes[key]; slot != nil {
			data, err := encodeSlot(slot)
			if err != nil {
				return nil, fmt.Errorf("encode record of pod %s: %w", key, err)
			}
			record.Data = data
		}
		records = append(records, record)
	}
	return records, tx.store.permit(records)
}

// permit refuses to write over records of a newer agent.
func (s *Store) permit(records []Record) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, r := range records {
		if newer, ok := s.withheld[r.Name]; ok {
			return fmt.Errorf("write record %s: %w: %w", r.Name, node.ErrConflict, newer)
		}
	}
	return nil
}

// Withheld reports whether a newer agent wrote the object's record, so that it stays as it is.
func (tx *Tx) Withheld(ref node.ObjectRef) bool {
	tx.store.mu.RLock()
	defer tx.store.mu.RUnlock()
	_, withheld := tx.store.withheld[objectName(ref)]
	return withheld
}

// Surplus lists, for each record, the fields that this agent does not know but keeps.
func (s *Store) Surplus() []string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var told []string
	tell := func(name, below string, over *surplus.Tree) {
		for _, path := range over.Paths() {
			told = append(told, fmt.Sprintf("record %s: %s%s", name, below, path))
		}
	}
	for key, view := range s.pods.all() {
		slot := view.Slot
		tell(slotName(key), "", slot.Surplus)
		tell(slotName(key), "Pod.", slot.Pod.Surplus)
		if slot.Next != nil {
			tell(slotName(key), "Next.", slot.Next.Surplus)
		}
	}
	for ref, object := range s.objects.all() {
		tell(objectName(ref), "", object.Surplus)
	}
	slices.Sort(told)
	return told
}
