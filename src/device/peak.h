// The most that the processor's multiply-add units do: what the speed of everything else is a share of.
#pragma once

namespace veneer::device {

// Operations a second, a multiply-add counted as two; 0: the processor has no such instructions.
struct Peak {
  double f32 = 0;
  double bf16 = 0;  // products of bf16 summed in float32
};

// Runs loops of independent multiply-adds in registers on the whole OpenMP pool of the calling thread, for a fraction
// of a second.
Peak measure_processor_peak();

}  // namespace veneer::device
