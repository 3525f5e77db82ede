// The door to the emitter of elementwise kernels.
#include "compiler/codegen/elementwise.h"

#include "compiler/codegen/emitter.h"

namespace quern {

std::string emit_elementwise(const ElementwiseSpec& spec, const Signature& signature,
                             const ElementwiseVariant& variant) {
    return ElementwiseEmitter(spec, signature, variant).emit();
}

} // namespace quern
