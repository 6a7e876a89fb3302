// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Statements: what the methods are written in.
//
//     p <<= r + beta * (p - omega * s)     assigns an expression to a vector (assign.hpp)
//     dot(q, y)                            asks for a dot product, per column
//     when(M, q <<= m + beta * q)          is said only if the condition holds (control.hpp)
//     group(x <<= …, r <<= …)              a group with a name, to be said later, alone or inside others
//     each(l, [&](int k) { return … ; })   l statements of one kind, where l is known only when running
//     W <<= (W - Q * S) / R                the same for panels (panel.hpp): tall blocks of vectors, small dense S and R
//     dots(Q, W)                           all products of a vector of Q with one of W
//     s <<= A * p                          a product, first in its group (linear_map.hpp)
//     guard(dot(r0, s))                    is no part of the paper's method but of its safeguards: counted apart
//
// They are values that know what they read and write; nothing is computed here. Meaning of a group: for every
// element, the statements in order; later ones see earlier results.
//
// A kind of statement is one struct. It says
//
//     value_type         of what vectors,
//     dots               how many dot products it asks for, or counted_when_running, and then count(),
//     touch(pass)        what it reads and writes, in order,
//     for_each_call(f)   where it is more than one call of the basic formulation: which ones,
//     panels             true where there are panels in it.
//
// What stands for other statements has open<said>(f) in the place of touch: f is called with each of them. An executor
// knows each kind by one struct too (execute/cpu).

#include "stretto/statements/assign.hpp"
#include "stretto/statements/control.hpp"
#include "stretto/statements/dot.hpp"
#include "stretto/statements/panel_statements.hpp"
