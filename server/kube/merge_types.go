package kube

import (
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/structured-merge-diff/v6/schema"
	smd "sigs.k8s.io/structured-merge-diff/v6/typed"
)

// mergeTypes says of each type how server-side apply merges its fields. Most of that stands in the tags of the Go types;
// what upstream says in comments alone is in the tables below. A test compares the result with client-go's own.
type mergeTypes struct {
	types []schema.TypeDef
	known map[reflect.Type]string
}

// mergeTypeOf returns the type of an object, for merging.
func mergeTypeOf(object any) smd.ParseableType {
	made := mergeTypes{known: map[reflect.Type]string{}}
	made.types = append(made.types, schema.TypeDef{Name: anyValue, Atom: schema.Atom{
		Scalar: scalar(schema.Untyped),
		List:   &schema.List{ElementType: typeNamed(anyValue), ElementRelationship: schema.Atomic},
		Map:    &schema.Map{ElementType: typeNamed(anyValue), ElementRelationship: schema.Atomic},
	}})
	name := made.add(reflect.Indirect(reflect.ValueOf(object)).Type())
	return (&smd.Parser{Schema: schema.Schema{Types: made.types}}).Type(name)
}

// anyValue is the type of values that have no fixed one, and of the status, which is the node's alone. They are whole.
const anyValue = "anyValue"

func typeNamed(name string) schema.TypeRef { return schema.TypeRef{NamedType: &name} }

func scalar(of schema.Scalar) *schema.Scalar { return &of }

func inlined(atom schema.Atom) schema.TypeRef { return schema.TypeRef{Inlined: atom} }

// wholeTypes belong to one manager with all their fields.
var wholeTypes = typesOf(
	corev1.ConfigMapKeySelector{}, corev1.EvictionResponder{}, corev1.FileKeySelector{}, corev1.LocalObjectReference{},
	corev1.NodeSelector{}, corev1.NodeSelectorTerm{}, corev1.ObjectFieldSelector{}, corev1.ObjectReference{},
	corev1.ResourceFieldSelector{}, corev1.SecretKeySelector{}, corev1.SecretReference{}, corev1.TypedLocalObjectReference{},
	discoveryv1.EndpointPort{}, metav1.LabelSelector{}, metav1.OwnerReference{},
)

func typesOf(values ...any) (all []reflect.Type) {
	for _, value := range values {
		all = append(all, reflect.TypeOf(value))
	}
	return all
}

// wholeFields belong to one manager with all that is in them, whatever their tags say.
var wholeFields = []string{"PodSpec.nodeSelector", "Scheduling.nodeSelector", "ServiceSpec.selector"}

// keysOf names the fields that tell the elements of a list apart, where the tags do not. Without any, the elements are texts
// or numbers, each of which may belong to another manager.
var keysOf = map[string][]string{
	"Container.ports":                               {"containerPort", "protocol"},
	"CSIDriverSpec.volumeLifecycleModes":            nil,
	"ContainerRestartRuleOnExitCodes.values":        nil,
	"Endpoint.addresses":                            nil,
	"EphemeralContainerCommon.ports":                {"containerPort", "protocol"},
	"PodFailurePolicyOnExitCodesRequirement.values": nil,
	"PodSpec.topologySpreadConstraints":             {"topologyKey", "whenUnsatisfiable"},
	"ResourceRequirements.claims":                   {"name"},
	"ServiceSpec.ports":                             {"port", "protocol"},
	"VolumeMount.bindMountOptions":                  nil,
}

// keyDefaults are the values that key fields have where they are not given and are not empty then.
var keyDefaults = map[string]any{"ContainerPort.protocol": "TCP", "LocalObjectReference.name": "", "ServicePort.protocol": "TCP"}

func (m *mergeTypes) add(of reflect.Type) string {
	if name, ok := m.known[of]; ok {
		return name
	}
	name := of.PkgPath() + "." + of.Name()
	m.known[of] = name // a type may hold itself
	made := &schema.Map{}
	if slices.Contains(wholeTypes, of) {
		made.ElementRelationship = schema.Atomic
	}
	for field := range jsonFields(of) {
		made.Fields = append(made.Fields, m.structField(field))
	}
	m.types = append(m.types, schema.TypeDef{Name: name, Atom: schema.Atom{Map: made}})
	return name
}

func (m *mergeTypes) structField(field jsonField) schema.StructField {
	if field.name == "status" {
		return schema.StructField{Name: field.name, Type: typeNamed(anyValue)}
	}
	place := field.of.Name() + "." + field.name
	made := schema.StructField{Name: field.name, Type: m.field(field.StructField, place)}
	if set, ok := keyDefaults[place]; ok {
		made.Default = set
	} else if !strings.Contains(field.options, "omit") {
		made.Default = emptyOf(field.Type)
	}
	return made
}

// emptyOf returns the value of a key field that is not given, if it need not be.
func emptyOf(of reflect.Type) any {
	switch of.Kind() {
	case reflect.String:
		return ""
	case reflect.Int32, reflect.Int64, reflect.Int:
		return 0
	}
	return nil
}

// field returns the type of a field, which may say in its tag how its list is merged.
func (m *mergeTypes) field(of reflect.StructField, place string) schema.TypeRef {
	made := m.of(of.Type)
	if list := made.Inlined.List; list != nil {
		keys, merged := keysOf[place]
		if key := of.Tag.Get("patchMergeKey"); !merged && key != "" {
			keys = []string{key}
		}
		if merged || strings.Contains(of.Tag.Get("patchStrategy"), "merge") {
			list.ElementRelationship, list.Keys = schema.Associative, keys
		}
	}
	if slices.Contains(wholeFields, place) {
		made.Inlined.Map.ElementRelationship = schema.Atomic
	}
	return made
}

func (m *mergeTypes) of(t reflect.Type) schema.TypeRef {
	if t.Kind() == reflect.Pointer {
		return m.of(t.Elem())
	}
	if _, ok := reflect.Zero(t).Interface().(formed); ok {
		return inlined(schema.Atom{Scalar: scalar(schema.Untyped)})
	}
	switch t.Kind() {
	case reflect.Struct:
		if t == reflect.TypeFor[metav1.FieldsV1]() || t == reflect.TypeFor[runtime.RawExtension]() || t.NumField() == 0 {
			return typeNamed(anyValue)
		}
		return typeNamed(m.add(t))
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return inlined(schema.Atom{Scalar: scalar(schema.String)})
		}
		return inlined(schema.Atom{List: &schema.List{ElementType: m.of(t.Elem()), ElementRelationship: schema.Atomic}})
	case reflect.Map:
		return inlined(schema.Atom{Map: &schema.Map{ElementType: m.of(t.Elem())}})
	case reflect.Bool:
		return inlined(schema.Atom{Scalar: scalar(schema.Boolean)})
	case reflect.String:
		return inlined(schema.Atom{Scalar: scalar(schema.String)})
	}
	return inlined(schema.Atom{Scalar: scalar(schema.Numeric)})
}
